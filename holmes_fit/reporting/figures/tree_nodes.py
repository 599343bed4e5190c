"""The tree that a model has learned from one person's trials, as far as it is worth drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit._support.numbers import share
from holmes_fit.reporting.text import printable

LEAST_SHARE = 0.02  # of the trials; smaller nodes are drawn together
MOST_LEVELS = 6  # deeper ones are left out
DIFFERENT = 0.15  # by which the share of a cue differs from the one above, to be worth a word
NEARLY = 0.05  # of always, or never
MOST_CUES = 3  # that a label names


@dataclass(frozen=True)
class Node:
    """A node to be drawn, with the nodes below it."""

    cues: tuple[str, ...]  # what its trials have in common that those above have not, the clearest first
    all_cues: tuple[str, ...]  # what its trials have in common that not all trials have
    visits: float  # trials that go through it
    ends: float  # trials that end there
    share: float  # of all trials
    outcome_rate: float  # share of its trials with the outcome; NaN if the outcome was never shown
    children: tuple[Node, ...] = ()  # the nodes below, largest first
    n_others: int = 0  # nodes below that are too small to be drawn alone; none if even together they are
    other_visits: float = 0.0
    is_cut: bool = False  # whether there are nodes below it that lie too deep to be drawn

    @property
    def n_levels(self) -> int:
        """How many levels there are below it."""
        return max((1 + child.n_levels for child in self.children), default=int(self.n_others > 0))

    @property
    def is_leaf(self) -> bool:
        return not self.children and not self.n_others

    def below(self) -> Iterator[Node]:
        """Give all nodes below it."""
        for child in self.children:
            yield child
            yield from child.below()


# --- From the table


@dataclass(frozen=True)
class _Nodes:
    """A tree's table with a row for each node, where the children of each are, and what all trials are like."""

    rows: list[dict[Any, Any]]
    rates: NDArray[np.float64]  # of the cues, row by row
    cues: tuple[str, ...]
    children: Mapping[Any, Any]  # rows, by the number of the node above them
    everywhere: NDArray[np.float64]  # rates of the cues over all trials
    n_trials: int
    least_share: float

    def tree(self, place: int, above: NDArray[np.float64], level: int) -> Node:
        """Return the node in a row of the table, with everything below it."""
        row, rates = self.rows[place], self.rates[place]
        large, n_others, other_visits = self.split(row["node"])
        is_last = level + 1 == MOST_LEVELS
        return Node(
            cues=defining_cues(rates, above, self.cues),
            all_cues=defining_cues(rates, self.everywhere, self.cues),
            visits=row["visits"],
            ends=row["leaf_visits"],
            share=min(1.0, row["visits"] / self.n_trials),
            outcome_rate=row["outcome_rate"],
            children=() if is_last else tuple(self.tree(child, rates, level + 1) for child in large),
            n_others=0 if is_last else n_others,
            other_visits=0.0 if is_last else other_visits,
            is_cut=is_last and bool(large),
        )

    def split(self, number: float) -> tuple[list[int], int, float]:
        """Return the children of a node to be drawn alone, the largest first; how many others, and their visits."""
        places = sorted(self.children.get(number, ()), key=lambda place: -self.rows[place]["visits"])
        least = self.least_share * self.n_trials
        large = [place for place in places if self.rows[place]["visits"] >= least]
        small = [self.rows[place]["visits"] for place in places[len(large) :]]
        return (large, len(small), sum(small)) if sum(small) >= least else (large, 0, 0.0)


def root_of(rows: pd.DataFrame, cues: Sequence[str], n_trials: int, least_share: float = LEAST_SHARE) -> Node:
    """Return all trials of one learner, with the tree below them."""
    table = rows[["node", "parent", "level", "visits", "leaf_visits", "outcome_rate"]].astype(np.float64)
    rates = rows[list(cues)].to_numpy(dtype=np.float64)
    top = table["level"].to_numpy() == 0
    everywhere = np.average(rates[top], axis=0, weights=table["visits"].to_numpy()[top])
    children = table.groupby("parent").indices
    nodes = _Nodes(table.to_dict("records"), rates, tuple(cues), children, everywhere, n_trials, least_share)
    large, n_others, other_visits = nodes.split(float(table["parent"].to_numpy()[top][0]))
    return Node(
        cues=(),
        all_cues=(),
        visits=n_trials,
        ends=0.0,
        share=1.0,
        outcome_rate=np.nan,
        children=tuple(nodes.tree(place, everywhere, 0) for place in large),
        n_others=n_others,
        other_visits=other_visits,
    )


def defining_cues(own: NDArray[np.float64], above: NDArray[np.float64], cues: Sequence[str]) -> tuple[str, ...]:
    """Say which cues the trials of a node have more or less often than those of the node above, the clearest first.

    ``"x1"`` is nearly always there, ``"no x2"`` nearly never, ``"x3 70%"`` that often.
    """
    found: list[str] = []
    present: set[str] = set()  # features of which a level is named
    named: set[tuple[str, float]] = set()
    for place in np.argsort(-np.abs(own - above), kind="stable"):
        name, rate = cues[place], float(own[place])
        if abs(rate - above[place]) < DIFFERENT or len(found) == MOST_CUES:
            break
        feature, _, level = name.partition("=")
        is_copy = (name.rpartition(".")[0], rate) in named  # "rain.2" says the same as "rain"
        if is_copy or (level and rate < 0.5 and feature in present):  # one level says that the others are not there
            continue
        named.add((name, rate))
        present |= {feature} if rate >= 0.5 else set()
        found.append(_said(printable(name), rate))
    return tuple(found)


def _said(cue: str, rate: float) -> str:
    if rate >= 1 - NEARLY:
        return cue
    return f"no {cue}" if rate <= NEARLY else f"{cue} {share(rate)}"
