"""What a report is made of: the tables of a run, read when they are asked for."""

from __future__ import annotations

import hashlib
import os
import re
from collections import ChainMap, Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from holmes_fit._support.errors import InputError, Problem, Problems, Quoted, check_kind, nearest, plain
from holmes_fit.reporting.anonymous import NAMES_IN_A_STUDY, Numbers, numbers_of
from holmes_fit.reporting.names import Words
from holmes_fit.reporting.reading import content, read_if_there, read_json
from holmes_fit.reporting.settings import Settings
from holmes_fit.runs.described import ABOUT
from holmes_fit.runs.fitted import fitted_run
from holmes_fit.runs.folder import HasRun, Run, read_run, run_of
from holmes_fit.runs.manifest import MANIFEST, named, part_of
from holmes_fit.runs.records import Record
from holmes_fit.runs.sets import check_sets, stamps
from holmes_fit.settings.spaces import named as in_condition
from holmes_fit.trials.cohorts import Cohort

EVERYONE = "everyone"
MOST_GROUPS = 10  # a covariate with more values than that is no grouping
FIRST_LOOK = "first look"
NUMBER = re.compile(r"\d+(?:\.\d+)?")  # in a warning

OF_RECOVERY = ("recovery", "recovery_people", "truth", "confusion", "power", "sbc_summary")  # tables of its study
OF_PARAMETERS = ("fits", "pooled", "group")
TRIALS = ["subject", "restart", "trial", "choice", "outcome", "feedback", "position", "group"]


@dataclass(frozen=True)
class CohortData:
    """The tables of a run by their names: ``data["fits"]`` has no rows where the run has no ``fits.csv``."""

    run: Run
    recovery_root: Path | None = None  # of a recovery study; ``recovery`` within the run if there is one
    grouping: str | None = None  # the covariate that makes groups; the first that divides people into few by default
    scope: str = ""  # the only group that the report is about; everyone if empty
    settings: Settings = field(default_factory=Settings)
    numbers: Numbers | None = None  # in the place of people's names
    asked_trees: Sequence[tuple[str, str]] = ()  # whose trees, and of which problem (all, if empty), instead of some
    tables: dict[str, pd.DataFrame] = field(default_factory=dict, compare=False)  # those that have been read
    stamps: tuple[Mapping[str, bytes], ...] = field(default=(), compare=False)  # of the run's sets, when it was opened

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self.tables:
            self.tables[name] = self._read(name)
        return self.tables[name]

    def has(self, *names: str) -> bool:
        """Return whether the run has all of these tables, with rows in them."""
        return all(len(self[name]) for name in names)

    def of_model(self, name: str, model: str) -> pd.DataFrame:
        """Return the rows of a table that are about a model; of estimates, those of free parameters alone."""
        table = self[name]
        rows = table[table["model"] == model] if len(table) else table
        return rows[rows["standing"] == "free"] if "standing" in rows else rows

    def _read(self, name: str) -> pd.DataFrame:
        folder = self.recovery_folder if name in OF_RECOVERY else self.run.root
        table = None if folder is None else read_if_there(folder, f"{name}.csv")
        if table is None:
            return pd.DataFrame()
        if name in OF_PARAMETERS and "condition" in table:  # a parameter in a condition is one of its own
            pairs = zip(table["parameter"], table["condition"], strict=True)
            table = table.assign(parameter=[in_condition(*pair) for pair in pairs])
        if self.numbers is not None:
            is_study = name in OF_RECOVERY
            table = self.numbers.renamed(table, NAMES_IN_A_STUDY) if is_study else self.numbers.in_table(table)
        if not self.scope or name in OF_RECOVERY:
            return table
        return self._in_scope(name, table).reset_index(drop=True)

    def _in_scope(self, name: str, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a table that are about the people of the only group, or about all people."""
        own = set(self.subjects["subject"])
        if name == "exclusions":  # those who were left out have no group
            return table[~table["subject"].isin(set(self.everyone["subject"]) - own)]
        if name == "frequency_differences":  # of several groups
            return table[:0]
        if "subject" in table:
            return table[table["subject"].isin(own)]
        # A report about one group calls that one everyone.
        return table[table["group"] == self.scope].assign(group=EVERYONE) if "group" in table else table

    # --- What the run says about itself

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that the results depend on."""
        return self.run.manifest.identity

    @property
    def about(self) -> Mapping[str, Any]:
        return self.run.manifest.about

    def made_by(self, what: str) -> str:
        """Return the version (``holmes_fit``) or the digest (``code``) of what made the run, wherever it was kept."""
        return str(self.about.get(what, self.identity.get(what, "")))

    @cached_property
    def words(self) -> Words:
        """What the run says of its models and parameters, and a recovery study of those that the run does not have."""
        said = (self.about, part_of(self._recovery_manifest, "about"))
        both = {
            kind: dict(ChainMap(*(dict(part_of(about, ABOUT, kind)) for about in said)))
            for kind in ("models", "parameters")
        }
        return Words({ABOUT: both}, self.model_names)

    @property
    def label(self) -> str:
        """What a reader must be told about all of the results; empty if nothing."""
        return str(self.about.get("label", "") or "")

    @cached_property
    def protocol(self) -> Mapping[str, Any]:
        """The content of ``protocol.json``."""
        return read_json(self.run.root, "protocol.json")

    @property
    def study(self) -> str:
        """What the study is called."""
        names = (self.protocol.get("title"), self.protocol.get("name"), named(self.identity, "protocol"))
        return str(next(filter(None, names), "study"))

    @property
    def title(self) -> str:
        """What the report is called."""
        return self.settings.title or self.study

    @property
    def folders(self) -> dict[str, Path]:
        """The folders that a report reads, by what stands before the names of their files."""
        return {"": self.run.root, **({"recovery/": self.recovery_folder} if self.recovery_folder else {})}

    def checked(self) -> CohortData:
        """Return the same, after refusing tables that are of different times, or not of the fits that are there."""
        before = tuple(stamps(folder) for folder in self.folders.values())
        for folder in self.folders.values():
            check_sets(folder)
        return replace(self, stamps=before)

    def check_unchanged(self) -> None:
        """Refuse what has been read while another process has changed it."""
        if self.stamps != tuple(stamps(folder) for folder in self.folders.values()):
            where, seen = f"run {plain(str(self.run.root), 200)}", "tables that were changed while they were read"
            raise InputError([Problem(where, seen, "a run at rest", "Give the same command again.")])

    @cached_property
    def files(self) -> tuple[tuple[str, str], ...]:
        """The name and the SHA-256 of every file that a report may use."""
        return tuple(
            (prefix + path.name, hashlib.sha256(content(folder, path.name)).hexdigest())
            for prefix, folder in self.folders.items()
            for path in sorted([*folder.glob("*.csv"), *folder.glob("*.json")])
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the names and the bytes of all of these files."""
        digest = hashlib.sha256()
        for name, own in self.files:
            digest.update(name.removeprefix("recovery/").encode() + b"\0" + bytes.fromhex(own))
        return digest.hexdigest()

    @property
    def model_names(self) -> tuple[str, ...]:
        """The models that were fitted, in the order of the tables."""
        return tuple(str(name) for name in self.identity.get("models", ()))

    # --- People

    @cached_property
    def _covariates(self) -> pd.DataFrame:
        table = read_if_there(self.run.root, "subjects.csv")
        if table is None or "subject" not in table:
            where = f"run {plain(str(self.run.root), limit=200)}, table subjects.csv"
            seen = "no such file" if table is None else "no column subject"
            raise InputError([Problem(where, seen, "the table of a run of holmes-fit fit")])
        return table if self.numbers is None else self.numbers.in_table(table)

    @cached_property
    def everyone(self) -> pd.DataFrame:
        """``subjects.csv``, whoever the report is about; ``group`` is everyone's group where there are several."""
        table, column = self._covariates, self.group_column
        return table if column is None else table.assign(group=table[column].astype("str").fillna(""))

    @cached_property
    def group_column(self) -> str | None:
        """The covariate that makes the groups."""
        table = self._covariates
        names = [str(name) for name in table.columns.drop("subject")]
        if self.grouping is not None:
            if self.grouping not in names:
                allowed = f"a covariate of the run: {', '.join(names) or 'there are none'}"
                raise InputError([Problem("argument by", repr(self.grouping), allowed, nearest(self.grouping, names))])
            return self.grouping
        kinds = {name: table[name] for name in names if not pd.api.types.is_numeric_dtype(table[name])}
        if self.numbers is not None:  # what differs between all people is another name
            kinds = {name: values for name, values in kinds.items() if values.nunique() < len(values)}
        return next((name for name, values in kinds.items() if 2 <= values.nunique() <= MOST_GROUPS), None)

    @cached_property
    def subjects(self) -> pd.DataFrame:
        """The people of the report and their covariates."""
        table = self.everyone
        return table[table["group"] == self.scope].reset_index(drop=True) if self.scope else table

    @property
    def all_groups(self) -> tuple[str, ...]:
        """The groups of the whole cohort, in alphabetical order; none where there is nothing that makes groups."""
        return () if self.group_column is None else tuple(sorted(self.everyone["group"].unique()))

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that the report sets side by side: two or more, or none."""
        return () if self.scope or len(self.all_groups) < 2 else self.all_groups

    @cached_property
    def group_of(self) -> Mapping[str, str]:
        """The group of each person; empty where there are none."""
        if self.group_column is None:
            return dict.fromkeys(self.everyone["subject"], "")
        return dict(zip(self.everyone["subject"], self.everyone["group"], strict=True))

    @property
    def n_people(self) -> int:
        return len(self.subjects)

    def within(self, group: str) -> CohortData:
        """Return the same for one group alone."""
        return replace(self, grouping=self.group_column, scope=group, tables={})

    @cached_property
    def trials(self) -> pd.DataFrame:
        """A row for each trial of everyone who was fitted with any model, in the order in which they learned.

        ``position`` counts from 1 within a learner.
        """
        table = self["trials_fitted"]
        if not len(table):
            return pd.DataFrame(columns=TRIALS)
        first = table.groupby("subject", sort=False)["model"].transform("first")
        kept = table.loc[table["model"] == first, TRIALS[:5]]
        kept = kept.assign(feedback=table.loc[kept.index, "prediction_error"].notna())
        kept["position"] = kept.groupby(["subject", "restart"], sort=False).cumcount() + 1
        kept["group"] = kept["subject"].map(self.group_of).fillna("")
        return kept.reset_index(drop=True)

    @cached_property
    def cohort(self) -> Cohort | None:
        """The data that were fitted; nothing where the folder does not hold them as a fit leaves them."""
        try:
            cohort = fitted_run(self.run).cohort
        except InputError:
            return None
        return cohort if self.numbers is None else self.numbers.in_cohort(cohort)

    def record(self, model: str, subject: str) -> Record | None:
        """Return the record of a person's fit; nothing where it is missing or damaged."""
        name = subject if self.numbers is None else self.numbers.names.get(subject, subject)
        return self.run.load_record((model, name))

    # --- The recovery study

    @cached_property
    def recovery_folder(self) -> Path | None:
        """Where the recovery study is, if there is one that has come to its end."""
        own = self.run.root / "recovery"
        return self.recovery_root or (own if (own / "recovery.csv").is_file() else None)

    @property
    def recovery_label(self) -> str:
        """What a reader must be told about all of the recovery study; empty if nothing."""
        return str(part_of(self._recovery_manifest, "about").get("label", "") or "")

    @property
    def recovery_identity(self) -> Mapping[str, Any]:
        """Everything that the recovery study depends on; nothing where its tables were put together by hand."""
        return part_of(self._recovery_manifest, "identity")

    @cached_property
    def _recovery_manifest(self) -> Mapping[str, Any]:
        return {} if self.recovery_folder is None else read_json(self.recovery_folder, MANIFEST)

    @cached_property
    def recovery_notes(self) -> tuple[str, ...]:
        """What is to be known of the groups and mixtures that the recovery study has sampled, a text for each."""
        try:
            study = None if self.recovery_folder is None else read_run(self.recovery_folder)
        except InputError:  # tables that were put together by hand
            study = None
        records = [] if study is None else [study.load_record(key) for key in study.manifest.keys]
        facts: list[Any] = [record.facts.get("warnings") for record in records if record is not None]
        return tuple("; ".join(map(str, texts)) for texts in facts if texts)

    # --- What follows from them

    @property
    def main_models(self) -> list[str]:
        """The models of the question; the baselines, if no others were fitted."""
        return [name for name in self.model_names if not self.words.is_baseline(name)] or list(self.model_names)

    @cached_property
    def evidence(self) -> pd.DataFrame:
        """The log evidence of everyone who was fitted with all models, a column for each model."""
        if not self.has("models"):
            return pd.DataFrame()
        return self["models"].pivot_table(index="subject", columns="model", values="log_evidence").dropna()

    @cached_property
    def lead_model(self) -> str:
        """The best of the latent-cause models: the most frequent one, or without a comparison that of most evidence."""
        fitted, rows = self.main_models, self["comparison"]
        rows = rows[rows["model"].isin(fitted)].dropna(subset=["frequency"]) if len(rows) else rows
        if len(rows):
            return str(rows.set_index("model")["frequency"].idxmax())
        sums = self.evidence.reindex(columns=fitted).sum().dropna()
        return str(sums.idxmax()) if len(self.evidence) and len(sums) else next(iter(fitted), "")

    @cached_property
    def warned(self) -> Mapping[str, tuple[str, ...]]:
        """What is to be known of people: by subject, the warnings of all models, "first look" left out."""
        found: dict[str, dict[str, None]] = {}
        for name, column, how in (("models", "warning", ""), ("failures", "reason", "not fitted, ")):
            for row in self[name].to_dict("records"):
                for text in str(row[column]).split(" | "):
                    if text and not text.startswith(FIRST_LOOK):
                        found.setdefault(str(row["subject"]), {})[f"{row['model']}: {how}{text}"] = None
        return {subject: tuple(texts) for subject, texts in found.items()}

    @cached_property
    def common(self) -> set[str]:
        """The kinds of warnings that everybody has who was fitted: they tell nobody apart."""
        kinds = Counter(kind for texts in self.warned.values() for kind in {kind_of(text) for text in texts})
        return {kind for kind, n in kinds.items() if n == self["models"]["subject"].nunique() > 1}

    @cached_property
    def marked(self) -> Mapping[str, tuple[str, ...]]:
        """What is to be known of people and not of everybody."""
        everyone = self.warned.items()
        rest = {name: tuple(text for text in texts if kind_of(text) not in self.common) for name, texts in everyone}
        return {name: texts for name, texts in rest.items() if texts}

    def warned_of(self, subject: str, model: str) -> Iterator[str]:
        """Give what marks a person among the others, of a model."""
        start = f"{model}: "
        return (text.removeprefix(start) for text in self.marked.get(subject, ()) if text.startswith(start))


def kind_of(warning: str) -> str:
    """Return what warnings have in common that differ in their numbers only."""
    return NUMBER.sub("#", warning)


def read_data(
    where: str | os.PathLike[str] | Run | HasRun,
    by: str | None = None,
    recovery: str | os.PathLike[str] | None = None,
    anonymous: bool = False,
) -> CohortData:
    """Return what a report is made of, as far as the run has it. Parameters are those of :func:`report`."""
    run = run_of(where)
    problems = Problems()
    place = f"folder {plain(str(run.root), limit=200)}"
    if run.manifest.identity.get("kind") != "fit":
        problems.add(place, Quoted("a run of something else"), "a run of holmes-fit fit")
    elif not (run.root / "fits.csv").is_file():
        advice = "holmes-fit status says how far it is; the same fit command goes on with it."
        problems.add(place, Quoted("a run without fits.csv"), "a run that has come to its end", advice)
    is_path = check_kind("recovery", recovery, str | os.PathLike | None, "a folder", problems)
    root = Path(recovery) if is_path and recovery is not None else None
    if root is not None and not (root / "recovery.csv").is_file():
        seen = "no recovery.csv" if root.is_dir() else "no such folder"
        problems.add(f"folder {plain(str(root), limit=200)}", Quoted(seen), "the folder of holmes-fit recover")
    problems.raise_if_any()
    data = CohortData(run, root, by, numbers=numbers_of(run.root) if anonymous else None).checked()
    seen, wanted = (plain(named(each, "protocol")) for each in (data.recovery_identity, data.identity))
    if seen and seen != wanted:
        where = f"folder {plain(str(data.recovery_folder), limit=200)}"
        raise InputError([Problem(where, f"a study of the protocol {seen}", f"one of {wanted}, as the run is")])
    if by is not None and len(data.all_groups) > data.n_people / 2 and (data.n_people > 3 or anonymous):
        seen = f"{len(data.all_groups)} values among {data.n_people} people"
        raise InputError([Problem("argument by", seen, "a covariate that makes groups of people")])
    return data
