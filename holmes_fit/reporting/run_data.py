"""What a report is made of: the tables of a run, read when they are asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from holmes_fit._support.errors import InputError, Problem, nearest, plain
from holmes_fit.reporting.names import BASELINES
from holmes_fit.reporting.reading import Table, read_if_there
from holmes_fit.runs.folder import Run, read_run
from holmes_fit.runs.records import Record

EVERYONE = "everyone"
MOST_GROUPS = 10  # a covariate with more values than that is no grouping
FIRST_LOOK = "first look"


@dataclass(frozen=True)
class CohortData:
    """The tables of a run; each is nothing where the run has no such file.

    Parameters
    ----------
    run
        The run folder of a fit.
    recovery_root
        The folder of a recovery study; ``recovery`` within the run if there is one.
    grouping
        The covariate that makes the groups; the first one that divides people into a few named groups by default.
    scope
        The only group that the report is about; everyone if empty.
    """

    run: Run
    recovery_root: Path | None = None
    grouping: str | None = None
    scope: str = ""

    # --- What the run says about itself

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that the results depend on."""
        return self.run.manifest.identity

    @property
    def about(self) -> Mapping[str, Any]:
        return self.run.manifest.about

    @property
    def label(self) -> str:
        """What a reader must be told about all of the results; empty if nothing."""
        return str(self.about.get("label", "") or "")

    @cached_property
    def protocol(self) -> Mapping[str, Any]:
        """The content of ``protocol.json``."""
        return _read_json(self.run.path("protocol.json"))

    @property
    def study(self) -> str:
        """What the study is called."""
        named = self.identity.get("protocol")
        fallback = named.get("name", "") if isinstance(named, Mapping) else ""
        return str(self.protocol.get("title") or self.protocol.get("name") or fallback or "study")

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the names and the bytes of all tables that a report may use."""
        digest = hashlib.sha256()
        folders = [self.run.root, *([self.recovery_folder] if self.recovery_folder else [])]
        for folder in folders:
            for path in sorted([*folder.glob("*.csv"), *folder.glob("*.json")]):
                digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()

    @property
    def model_names(self) -> tuple[str, ...]:
        """The models that were fitted, in the order of the tables."""
        return tuple(str(name) for name in self.identity.get("models", ()))

    # --- People

    @cached_property
    def everyone(self) -> pd.DataFrame:
        """``subjects.csv``, whoever the report is about."""
        table = read_if_there(self.run.root / "subjects.csv")
        if table is None:
            where = f"run {plain(str(self.run.root), limit=200)}, table subjects.csv"
            raise InputError([Problem(where, "no such file", "a run of holmes-fit fit")])
        if self.group_column is not None:
            table["group"] = table[self.group_column].astype("str").fillna("")
        return table

    @cached_property
    def group_column(self) -> str | None:
        """The covariate that makes the groups."""
        table = read_if_there(self.run.root / "subjects.csv")
        names = [] if table is None else [str(name) for name in table.columns.drop("subject")]
        if self.grouping is not None:
            if self.grouping not in names:
                allowed = f"a covariate of the run: {', '.join(names) or 'there are none'}"
                raise InputError([Problem("option --by", repr(self.grouping), allowed, nearest(self.grouping, names))])
            return self.grouping
        for name in names:
            assert table is not None
            values = table[name]
            if not pd.api.types.is_numeric_dtype(values) and 2 <= values.nunique() <= MOST_GROUPS:
                return name
        return None

    @cached_property
    def subjects(self) -> pd.DataFrame:
        """The people of the report and their covariates; ``group`` is their group where there are several."""
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
        return replace(self, grouping=self.group_column, scope=group)

    # --- Tables of the fit

    @cached_property
    def fits(self) -> Table:
        """``fits.csv``: a row for each subject, model and parameter."""
        return self._own("fits.csv")

    @cached_property
    def models(self) -> Table:
        """``models.csv``: a row for each subject and model."""
        return self._own("models.csv")

    @cached_property
    def trials_fitted(self) -> Table:
        """``trials_fitted.csv``: predictions for each subject, trial and model, at the MAP."""
        return self._own("trials_fitted.csv")

    @cached_property
    def trials(self) -> Table:
        """A row for each trial of everyone who was fitted with any model, in the order in which they learned.

        ``subject``, ``restart``, ``trial``, ``position`` (from 1 within a learner), ``choice``, ``outcome``,
        ``feedback``, ``group``.
        """
        table = self.trials_fitted
        if table is None or not len(table):
            return None
        first = table.groupby("subject", sort=False)["model"].transform("first")
        kept = table.loc[table["model"] == first, ["subject", "restart", "trial", "choice", "outcome"]]
        kept = kept.assign(feedback=table.loc[kept.index, "prediction_error"].notna())
        kept["position"] = kept.groupby(["subject", "restart"], sort=False).cumcount() + 1
        kept["group"] = kept["subject"].map(self.group_of).fillna("")
        return kept.reset_index(drop=True)

    @cached_property
    def trees(self) -> Table:
        """``trees.csv``: the inferred tree of each subject, restart and model, at the MAP."""
        return self._own("trees.csv")

    @cached_property
    def failures(self) -> Table:
        """``failures.csv``: who could not be fitted with what, and why."""
        return self._own("failures.csv")

    @cached_property
    def exclusions(self) -> Table:
        """``exclusions.csv``: what the rules of the protocol took out; those who were left out have no group."""
        table = read_if_there(self.run.root / "exclusions.csv")
        if table is None or not self.scope:
            return table
        elsewhere = set(self.everyone["subject"]) - set(self.subjects["subject"])
        return table[~table["subject"].isin(elsewhere)].reset_index(drop=True)

    def record(self, model: str, subject: str) -> Record | None:
        """Return everything that was kept about one person and model: the lattice of log-likelihoods, for instance."""
        return self.run.load_record((model, subject))

    # --- Tables of pooling

    @cached_property
    def group(self) -> Table:
        """``group.csv``: means, spreads, effects and contrasts of the whole cohort."""
        return read_if_there(self.run.root / "group.csv")

    @cached_property
    def pooled(self) -> Table:
        """``pooled.csv``: each person's estimates under the group."""
        return self._own("pooled.csv")

    @cached_property
    def pooling(self) -> Table:
        """``pooling.csv``: whether each group model can be trusted."""
        return read_if_there(self.run.root / "pooling.csv")

    @cached_property
    def behaviour(self) -> Table:
        """``behaviour.csv``: right answers of the whole cohort by covariates, without a model."""
        return read_if_there(self.run.root / "behaviour.csv")

    # --- Tables of the comparison

    @cached_property
    def comparison(self) -> Table:
        """``comparison.csv``: a row for each model, over everyone."""
        return read_if_there(self.run.root / "comparison.csv")

    @cached_property
    def probabilities(self) -> Table:
        """``model_probabilities.csv``: a row for each subject and model of the mixture."""
        return self._own("model_probabilities.csv")

    @cached_property
    def frequencies(self) -> Table:
        """``frequencies.csv``: the share of people whom each model describes, for everyone and each group."""
        return self._of_scope("frequencies.csv")

    @cached_property
    def differences(self) -> Table:
        """``frequency_differences.csv``: between groups."""
        return None if self.scope else read_if_there(self.run.root / "frequency_differences.csv")

    @cached_property
    def prior_sensitivity(self) -> Table:
        """``prior_sensitivity.csv``: evidences of the whole cohort under narrower and wider priors."""
        return read_if_there(self.run.root / "prior_sensitivity.csv")

    @cached_property
    def mixture(self) -> Table:
        """``mixture.csv``: whether the mixture can be trusted."""
        return read_if_there(self.run.root / "mixture.csv")

    @cached_property
    def predictive(self) -> Table:
        """``predictive.csv``: observed and simulated behaviour."""
        return self._of_scope("predictive.csv")

    @cached_property
    def predictive_summary(self) -> Table:
        """``predictive_summary.csv``: how far apart they are."""
        return self._of_scope("predictive_summary.csv")

    # --- Tables of the recovery study

    @cached_property
    def recovery_folder(self) -> Path | None:
        """Where the recovery study is, if there is one that has come to its end."""
        own = self.run.root / "recovery"
        return self.recovery_root or (own if (own / "recovery.csv").is_file() else None)

    @cached_property
    def recovery_label(self) -> str:
        """What a reader must be told about all of the recovery study; empty if nothing."""
        return str(self._recovery_manifest("about").get("label", "") or "")

    @property
    def recovery_identity(self) -> Mapping[str, Any]:
        """Everything that the recovery study depends on; nothing where its tables were put together by hand."""
        return self._recovery_manifest("identity")

    def _recovery_manifest(self, part: str) -> Mapping[str, Any]:
        content = {} if self.recovery_folder is None else _read_json(self.recovery_folder / "manifest.json")
        found = content.get(part)
        return found if isinstance(found, Mapping) else {}

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

    @cached_property
    def recovery(self) -> Table:
        """``recovery.csv``: how well each estimator does, by model and parameter."""
        return self._recovered("recovery.csv")

    @cached_property
    def recovery_people(self) -> Table:
        """``recovery_people.csv``: truth and estimates of each simulated person."""
        return self._recovered("recovery_people.csv")

    @cached_property
    def recovery_truth(self) -> Table:
        """``truth.csv``: who was simulated, and whose trials they saw."""
        return self._recovered("truth.csv")

    @cached_property
    def confusion(self) -> Table:
        """``confusion.csv``: which model is chosen, by the one that made the choices."""
        return self._recovered("confusion.csv")

    @cached_property
    def power(self) -> Table:
        """``power.csv``: how often a study of that size finds a difference."""
        return self._recovered("power.csv")

    @cached_property
    def calibration(self) -> Table:
        """``sbc_summary.csv``: whether intervals hold the truth as often as they should."""
        return self._recovered("sbc_summary.csv")

    # --- What follows from them

    @cached_property
    def lead_model(self) -> str:
        """The best of the latent-cause models: the most frequent one, or without a comparison that of most evidence."""
        fitted = [name for name in self.model_names if name not in BASELINES] or list(self.model_names)
        if self.comparison is not None:
            rows = self.comparison[self.comparison["model"].isin(fitted)].dropna(subset=["frequency"])
            if len(rows):
                return str(rows.sort_values("frequency", ascending=False, kind="stable")["model"].iloc[0])
        if self.models is not None and len(self.models):
            wide = self.models.pivot_table(index="subject", columns="model", values="log_evidence").dropna()
            own = wide.reindex(columns=fitted).sum().dropna()
            if len(wide) and len(own):
                return str(own.idxmax())
        return fitted[0] if fitted else ""

    @cached_property
    def warned(self) -> Mapping[str, tuple[str, ...]]:
        """What is to be known of people: by subject, the warnings of all models, "first look" left out."""
        found: dict[str, dict[str, None]] = {}
        for table, column in ((self.models, "warning"), (self.failures, "reason")):
            for _, row in table.iterrows() if table is not None else ():
                for text in str(row[column]).split(" | "):
                    if text and not text.startswith(FIRST_LOOK):
                        entry = f"{row['model']}: {text if column == 'warning' else f'not fitted, {text}'}"
                        found.setdefault(str(row["subject"]), {})[entry] = None
        return {subject: tuple(texts) for subject, texts in found.items()}

    # --- Reading

    def _own(self, name: str) -> Table:
        """Read a table with a column of subjects, for the people of the report."""
        table = read_if_there(self.run.root / name)
        if table is None or not self.scope:
            return table
        return table[table["subject"].isin(set(self.subjects["subject"]))].reset_index(drop=True)

    def _of_scope(self, name: str) -> Table:
        """Read a table with rows for everyone and for groups; a report about one group calls that one everyone."""
        table = read_if_there(self.run.root / name)
        if table is None or not self.scope:
            return table
        own = table[table["group"] == self.scope].assign(group=EVERYONE).reset_index(drop=True)
        return own if len(own) else None

    def _recovered(self, name: str) -> Table:
        return None if self.recovery_folder is None else read_if_there(self.recovery_folder / name)


def _read_json(path: Path) -> Mapping[str, Any]:
    """Return what a file of JSON holds; nothing where there is no such file, or something else in it."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        content = {}
    return content if isinstance(content, dict) else {}
