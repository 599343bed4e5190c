"""All models against each other: on simulated people of whom the truth is known, and on files of real people.

The plans, with seeds and rules, are in reports/recovery/competitors and reports/people; they were written before
anything was run.

``python -m benchmarks.competitors recovery`` simulates, and goes on where it was stopped; people of a sequence see the
same trials, so that particle filters run once for all of them (``recovery.shared_traces``). ``... recovery --judge``
makes the tables and the figure of what there is. ``... people FILE PROTOCOL`` fits a file of real people into a run
folder, compares the models, and keeps the table.
"""

from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

import holmes_fit as hf
from benchmarks import ROOT
from benchmarks.coverage import against_truth, parameter_measures
from benchmarks.kept import Kept, Rows, by_cell, write_summaries
from holmes_fit.groups.comparison.words import in_words
from holmes_fit.settings.preset import load_preset
from holmes_fit.studies.recovery.shared_traces import drawn, shared_by_models, shared_learners
from holmes_fit.studies.statistics import share

SEED = 1_414_213
ERROR_DRIVEN = ("configural", "pearce_hall", "rescorla_wagner")
BASELINES = ("win_stay", "bias")
MODELS = ("flat", "holmes", "rational", "alcove", "gcm", "sustain", *ERROR_DRIVEN, *BASELINES)
# Those that a comparison had before there were others
BEFORE = ("flat", "holmes", "rescorla_wagner", "bias")
TASKS = ("weather_prediction", "shepard")
SEQUENCES, PEOPLE = 10, 2  # people of each truth on each sequence
SURE = 3.0  # nats by which the best model is ahead when one would say so: odds of 20
KEPT, OF_PEOPLE = ROOT / "reports" / "recovery" / "competitors", ROOT / "reports" / "people"
SHOWN = [
    "model", "n_subjects", "log_evidence", "log_evidence_error", "noisy", "most_evidence_for",
    "frequency", "frequency_lower", "frequency_upper", "exceedance", "protected_exceedance", "likeliest_for",
    "loso", "loso_difference", "loso_difference_error", "loso_k_high", "hit_rate",
]  # fmt: skip
app = typer.Typer(add_completion=False, help=__doc__)


def fit_sequence(job: tuple[int, str]) -> dict[str, Rows]:
    """Fit two people of every truth with every model, on one sequence of trials."""
    sequence, task = job
    traces = shared_by_models(load_preset("default"), MODELS, shared_learners(task, SEED + sequence), 32 * PEOPLE, SEED)
    parameters, evidences = [], []
    for (origin, truth), number in product(enumerate(MODELS), range(PEOPLE)):
        rng = np.random.default_rng([SEED, sequence, origin, number])
        values = drawn(traces[truth].space, rng)
        person = traces[truth].person(values, f"s{number}", rng)
        who = {"sequence": sequence, "task": task, "person": number}
        for model, own in traces.items():
            found = own.fits(person, rng, with_error=False)[0]
            evidences.append(who | {"truth": truth, "model": model, "log_evidence": found.log_evidence})
            if model == truth:
                parameters += [who | {"model": model} | row for row in against_truth(found, values, rng)]
    return {"parameters": parameters, "evidences": evidences}


def chosen(evidences: pd.DataFrame, among: tuple[str, ...]) -> pd.DataFrame:
    """Return a row a person: the model with the highest evidence, and how far it is ahead of the next."""
    people = ["task", "sequence", "truth", "person"]
    wide = evidences[evidences["model"].isin(among)].pivot(index=people, columns="model", values="log_evidence")
    wide = wide[list(among)]
    best = np.sort(wide.to_numpy(), axis=1)
    return wide.idxmax(axis=1).rename("chosen").reset_index().assign(ahead=best[:, -1] - best[:, -2])


def confusion(people: pd.DataFrame, among: tuple[str, ...]) -> pd.DataFrame:
    """Return how often each model is chosen for people of each truth, and how often beyond doubt."""
    rows = []
    for (task, truth), own in people.groupby(["task", "truth"], sort=False):
        for model in among:
            said = own["chosen"] == model
            value, lower, upper = share(int(said.sum()), len(own))
            surely = float((said & (own["ahead"] > SURE)).mean())
            row = {"task": task, "truth": truth, "chosen": model, "n": len(own), "count": int(said.sum())}
            rows.append(row | {"share": value, "lower": lower, "upper": upper, "surely": surely})
    return pd.DataFrame(rows)


def summaries(kept: Kept) -> dict[str, pd.DataFrame]:
    """Return the tables of what is done so far."""
    evidences = kept.tables["evidences"]
    parameters = by_cell(kept.tables["parameters"], ("task", "model", "parameter"), parameter_measures)
    tables = {"recovery": parameters}
    for name, among in (("confusion", MODELS), ("confusion_before", BEFORE)):
        tables[name] = confusion(chosen(evidences, among), among)
    return tables


def draw(table: pd.DataFrame, path: Path) -> None:
    """Draw the confusion of all models, a panel a task."""
    from matplotlib.figure import Figure

    from holmes_fit.models.registry import MODELS as REGISTERED
    from holmes_fit.models.registry import descriptions
    from holmes_fit.reporting.figures.recovery import draw_confusion
    from holmes_fit.reporting.names import Words
    from holmes_fit.reporting.style import use_style

    words = Words({"described": descriptions(REGISTERED.values())}, MODELS)
    with use_style():
        figure = Figure(figsize=(13, 6.2), layout="constrained")
        tasks = table.groupby("task", sort=False)
        for ax, (task, own) in zip(figure.subplots(1, len(tasks), squeeze=False)[0], tasks, strict=True):
            draw_confusion(ax, own, MODELS, words)
            ax.set_title(f"{task}, {own['n'].min()} people of each model")
        figure.savefig(path, dpi=110)


@app.command()
def recovery(judge: bool = False, workers: int = 1, only: Annotated[list[str] | None, typer.Option()] = None) -> None:
    """Recover parameters, and models among all others."""
    kept = Kept(KEPT, "parameters", "evidences", job=("sequence", "task"), digits="%.6g")
    if not judge:
        kept.do(fit_sequence, product(range(SEQUENCES), only or TASKS), workers)
    tables = summaries(kept)
    write_summaries(KEPT, tables)
    draw(tables["confusion"], KEPT / "confusion.png")


@app.command()
def people(file: Path, protocol: str, each: int = 0, workers: int = 1) -> None:
    """Fit a file of real people with all models, and compare them; ``--each``, with the first so many of each group."""
    cohort = hf.read_cohort(file, protocol)
    if each:
        first, table = cohort.subjects.groupby("group", sort=False).head(each), pd.read_csv(file, dtype="str")
        cohort = hf.read_cohort(table[table["subject"].isin(first["subject"])], protocol)
    run = ROOT / "runs" / f"{file.stem}_{each or 'all'}"
    hf.fit(cohort, MODELS, run, seed=SEED, workers=workers)
    found = hf.compare(run, workers=workers)
    write_summaries(OF_PEOPLE, {file.stem: found.models[SHOWN]})
    print(in_words(found))


if __name__ == "__main__":
    app()
