"""Numbers in the place of people's names, for reports that are shared; the key to them is a file of its own.

Numbers stand in an order that the names do not tell: that of digests of the names with tables that a report does not
show. The same run gives the same numbers.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from holmes_fit.reporting.reading import content, read_if_there
from holmes_fit.trials.cohorts import Cohort

NAMES = ("subject",)  # columns that hold them
NAMES_IN_A_STUDY = ("like",)  # whose trials someone simulated sees
WORDS = ("rule", "seen", "allowed", "consequence", "reason", "warning", "explanation")  # may speak of people
NOBODY = ("", "everyone")
SECRET = ("subjects.csv", "fits.csv", "trials_fitted.csv")


@dataclass(frozen=True)
class Numbers:
    """The number of everyone, by name."""

    of: Mapping[str, str]

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The name of everyone, by number."""
        return {number: name for name, number in self.of.items()}

    @cached_property
    def _spoken(self) -> re.Pattern[str]:
        """Names in a sentence; those that look like numbers only where they are quoted."""
        longest = sorted(self.of, key=len, reverse=True)
        free = [re.escape(name) for name in longest if not name.replace(".", "").isdecimal()]
        return re.compile("|".join([*(rf"(?<!\w){name}(?!\w)" for name in free), *map(re.escape, map(repr, longest))]))

    def in_words(self, text: str) -> str:
        """Return a text that names nobody."""
        return self._spoken.sub(lambda found: self.of.get(found[0], self.of.get(found[0][1:-1], "")), text)

    def in_table(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return a table with numbers for names, people in the order of these."""
        table = self.renamed(table)
        return table.sort_values("subject", kind="stable", ignore_index=True) if "subject" in table else table

    def renamed(self, table: pd.DataFrame, columns: Sequence[str] = NAMES) -> pd.DataFrame:
        """Return a table with numbers for names in these columns and in its words, rows as they were."""
        known = {**self.of, **{name: name for name in NOBODY}}
        own = {name: table[name].map(known).fillna("?") for name in columns if name in table}
        return table.assign(**own, **{name: table[name].map(self.in_words) for name in WORDS if name in table})

    def in_cohort(self, cohort: Cohort) -> Cohort:
        """Return the data with numbers for names."""
        trials, subjects, out = map(self.renamed, (cohort.trials, cohort.subjects, cohort.exclusions))
        learners = tuple(replace(each, subject=self.of[each.subject]) for each in cohort.learners)
        return Cohort(cohort.protocol, trials, learners, subjects, out)

    def key(self) -> pd.DataFrame:
        """Return the table that tells who is who."""
        return pd.DataFrame({"number": self.names.keys(), "subject": self.names.values()})


def numbers_of(root: Path) -> Numbers:
    """Return a number for everyone whom a run names, those who were left out among them."""
    tables = [table for name in ("subjects", "exclusions") if (table := read_if_there(root, f"{name}.csv")) is not None]
    names = {str(name) for table in tables for name in table["subject"]}.difference(NOBODY)
    secret = b"".join(content(root, name) for name in SECRET if (root / name).is_file())
    order = sorted(names, key=lambda name: hashlib.sha256(secret + name.encode()).digest())
    width = len(str(len(order)))
    return Numbers({name: f"{place:0{width}d}" for place, name in enumerate(order, start=1)})
