"""A comparison in plain words: the answer first, then the table, then what a reader must know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from holmes_fit._support.numbers import listed, p_value, probability, share
from holmes_fit.groups.comparison.omnibus import FAVOURED
from holmes_fit.groups.comparison.prior_sensitivity import sensitivity_in_words
from holmes_fit.trials.summaries import EVERYONE

if TYPE_CHECKING:
    from holmes_fit.groups.comparison.compare import Comparison
    from holmes_fit.groups.comparison.families import Families

SURE = 0.95  # protected exceedance probability
STRONG = 3.0  # nats: odds of 20 to 1


def in_words(found: Comparison) -> str:
    """Return what was found, for people."""
    parts = [headline(found), *families_in_words(found.families, found.mixture.diagnostics.ess_bulk), *_groups(found)]
    parts += [_table(found.models), sensitivity_in_words(found.prior_sensitivity)]
    parts += _behaviour(found)
    parts += ["\n".join(f"Warning: {text}." for text in found.warnings)] if found.warnings else []
    return "\n\n".join(parts)


def headline(found: Comparison) -> str:
    """Return the answer in a few sentences."""
    first, second = found.models.iloc[0], found.models.iloc[1]
    draws = found.mixture.diagnostics.ess_bulk
    n_people = len(found.mixture.subjects)
    n_sure = int(np.sum(found.mixture.probability.max(axis=1) > SURE))
    certainty = first["protected_exceedance"]
    start = first["model"] if certainty > SURE else f"no model stands out: {first['model']}"
    if FAVOURED < certainty <= SURE:
        start = f"{first['model']} is favoured, though not beyond doubt: it"
    unprotected, protected = (probability(first[name], draws) for name in ("exceedance", "protected_exceedance"))
    return (
        f"Among {listed(found.mixture.models)}, {start} describes an estimated {_share(first)} of the people, the next "
        f"one, {second['model']}, {_share(second)}. {first['model']} is the most frequent of them with probability "
        f"{unprotected}, or {protected} when chance is allowed for (omnibus risk "
        f"{probability(found.shares.risk, draws)}). By posterior probability in the mixture, which knows the group, it "
        f"is the likeliest model of {first['likeliest_for']:.0f} of {n_people} people; for {n_sure} some model is "
        f"above {SURE}. By their own evidence alone, it is that of {first['most_evidence_for']:.0f}. "
        f"{_best_competitor(found.models)}"
    )


def _share(row: pd.Series) -> str:
    return f"{share(row['frequency'])} (95% {share(row['frequency_lower'])} to {share(row['frequency_upper'])})"


def _best_competitor(models: pd.DataFrame) -> str:
    """Set the most frequent model beside the one of the others that has the highest evidence."""
    mixed = models[models["in_mixture"]]
    first, rival = mixed.iloc[0], mixed.iloc[1:].sort_values("log_evidence", ascending=False).iloc[0]
    ahead = first["log_evidence"] - rival["log_evidence"]
    error = float(np.hypot(first["log_evidence_error"], rival["log_evidence_error"]))
    direction = "above" if ahead > 0 else "below"
    doubt = "" if ahead > STRONG + 2 * error else f": {rival['model']} explains all choices together as well, or better"
    return (
        f"Its evidence summed over people is {abs(ahead):.1f} ± {error:.1f} nats {direction} that of {rival['model']}, "
        f"the best of the others{doubt}."
    )


def families_in_words(families: Families, draws: float) -> Iterator[str]:
    """Say what models have in common that describe the people, and of which families nothing can be said."""
    table = families.table
    own = table[(table["group"] == EVERYONE) & (table["n_models"] > 0)].sort_values("mean", ascending=False)
    if 1 < len(own) < own["n_models"].sum():
        first = own.iloc[0]
        shares = [
            f"{row['family']} ({row['models'].replace(' ', ', ')}) {share(row['mean'])} (95% {share(row['lower'])} to "
            f"{share(row['upper'])})"
            for _, row in own.iterrows()
        ]
        yield (
            f"By families, all equally likely beforehand: {'; '.join(shares)}. Models called {first['family']} are "
            f"the most frequent family with probability {probability(first['exceedance'], draws)}, or "
            f"{probability(first['protected_exceedance'], draws)} when chance is allowed for."
        )
    if families.left_out:
        yield f"No {' or '.join(families.left_out)} model was weighed, so that nothing is said of those."


def _groups(found: Comparison) -> list[str]:
    first = found.models.iloc[0]["model"]
    own = found.differences[found.differences["model"] == first]
    lines = []
    for _, row in own.iterrows():
        sure = max(row["probability_above_0"], 1 - row["probability_above_0"])
        direction = "more" if row["median"] > 0 else "less"
        lines.append(
            f"{first} is {direction} frequent in {row['above']} than in {row['below']} with probability "
            f"{probability(sure, found.mixture.diagnostics.ess_bulk)}: "
            f"{row['median']:+.2f} (95% {row['lower']:+.2f} to {row['upper']:+.2f})."
        )
    return ["\n".join(lines)] if lines else []


def _table(models: pd.DataFrame) -> str:
    columns = {
        "model": models["model"],
        "frequency": models["frequency"].map(lambda value: "" if pd.isna(value) else f"{value:.2f}"),
        "evidence": _with_errors(models["log_evidence"], models["log_evidence_error"]),
        "left out": [
            "best" if value == 0 else f"{value:.1f} ± {error:.1f}"
            for value, error in zip(models["loso_difference"], models["loso_difference_error"], strict=True)
        ],
        "over bias": _with_errors(models["over_bias"], models["over_bias_error"]),
        "hits": models["hit_rate"].map("{:.0%}".format),
    }
    note = "Evidence and predictive density of people left out (difference to the best) in nats, summed over people."
    return f"{pd.DataFrame(columns).to_string(index=False)}\n{note}"


def _with_errors(values: pd.Series, errors: pd.Series) -> list[str]:
    """Return sums with their Monte Carlo errors; nothing where there is no value."""
    return ["" if pd.isna(value) else f"{value:.1f} ± {error:.1f}" for value, error in zip(values, errors, strict=True)]


def _behaviour(found: Comparison) -> list[str]:
    """Say whether the models would have behaved as the people did."""
    own = found.check_summary
    own = own[(own["group"] == "everyone") & (own["measure"] == "correct")]
    if own.empty:
        return []
    parts = [f"{row['model']} {row['share_inside']:.0%} (p {p_value(row['p_value'])})" for _, row in own.iterrows()]
    return [f"Learning curve of everyone, bins inside the 95% band of simulated cohorts: {', '.join(parts)}."]
