"""Whom a report is asked about: people, and problems of theirs, by the names that the run has for them."""

from collections.abc import Mapping, Sequence

from holmes_fit._support.errors import InputError, Problem, nearest, shown
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.sections.trees import shown_model


def called(data: CohortData) -> Mapping[str, str]:
    """Return what the report calls each person, by what the run calls them."""
    subjects = [str(each) for each in data.everyone["subject"]]
    return {name if data.numbers is None else data.numbers.names[name]: name for name in subjects}


def known_person(data: CohortData, name: str, where: str = "argument person") -> str:
    """Return what the report calls a person, whom the run calls by that name."""
    names = called(data)
    if name not in names:
        raise InputError([Problem(where, shown(name), "someone of the run", nearest(name, names))])
    return names[name]


def asked_trees(data: CohortData, asked: Sequence[str]) -> list[tuple[str, str]]:
    """Return whose trees are meant, and of which problem, by texts such as ``s07`` and ``s07:3``."""
    found, names = [], called(data)
    for text in asked:
        name, _, restart = text.rpartition(":") if text not in names and ":" in text else (text, "", "")
        subject = known_person(data, name, "argument trees")
        trees = data.of_model("trees", shown_model(data)) if len(data["trees"]) else data["trees"]
        known = [str(each) for each in trees.loc[trees["subject"] == subject, "restart"].unique()] if len(trees) else []
        if not known or (restart and restart not in known):
            allowed = f"SUBJECT:PROBLEM, with one of {', '.join(known)}" if known else "someone whose tree the run has"
            raise InputError([Problem("argument trees", shown(text), allowed, nearest(restart, known))])
        found.append((subject, restart))
    return found
