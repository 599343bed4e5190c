"""A comparison in plain words: the answer first, then the table, then what a reader must know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from holmes_fit.comparison.prior_sensitivity import sensitivity_in_words

if TYPE_CHECKING:
    from holmes_fit.comparison.compare import Comparison

SURE = 0.95


def in_words(found: Comparison) -> str:
    """Return what was found, for people."""
    parts = [headline(found), *_groups(found), _table(found.models), sensitivity_in_words(found.prior_sensitivity)]
    parts += _behaviour(found)
    parts += ["\n".join(f"Warning: {text}." for text in found.warnings)] if found.warnings else []
    return "\n\n".join(parts)


def headline(found: Comparison) -> str:
    """Return the answer in a few sentences."""
    first = found.models.iloc[0]
    people = found.people
    likeliest = people.loc[people.groupby("subject", sort=False)["probability"].idxmax()]
    n_people = len(likeliest)
    n_best, n_sure = int((likeliest["model"] == first["model"]).sum()), int((likeliest["probability"] > SURE).sum())
    return (
        f"{first['model']} describes an estimated {first['frequency']:.0%} of the people "
        f"(95% {first['frequency_lower']:.0%} to {first['frequency_upper']:.0%}). It is the most frequent model with "
        f"probability {first['exceedance']:.3f}, or {first['protected_exceedance']:.3f} when chance is allowed for "
        f"(omnibus risk {found.shares.risk:.3f}). Person by person, it is the likeliest for {n_best} of {n_people}; "
        f"for {n_sure} of {n_people} some model has a probability above {SURE}."
    )


def _groups(found: Comparison) -> list[str]:
    first = found.models.iloc[0]["model"]
    own = found.differences[found.differences["model"] == first]
    lines = []
    for _, row in own.iterrows():
        sure = max(row["probability_above_0"], 1 - row["probability_above_0"])
        direction = "more" if row["median"] > 0 else "less"
        lines.append(
            f"{first} is {direction} frequent in {row['above']} than in {row['below']} with probability {sure:.3f}: "
            f"{row['median']:+.2f} (95% {row['lower']:+.2f} to {row['upper']:+.2f})."
        )
    return ["\n".join(lines)] if lines else []


def _table(models: pd.DataFrame) -> str:
    columns = {
        "model": models["model"],
        "frequency": models["frequency"].map(lambda value: "" if pd.isna(value) else f"{value:.2f}"),
        "evidence": [
            f"{value:.1f} ± {error:.1f}"
            for value, error in zip(models["log_evidence"], models["log_evidence_error"], strict=True)
        ],
        "left out": [
            "best" if value == 0 else f"{value:.1f} ± {error:.1f}"
            for value, error in zip(models["loso_difference"], models["loso_difference_error"], strict=True)
        ],
        "AIC": models["aic"].map("{:.0f}".format),
        "BIC": models["bic"].map("{:.0f}".format),
        "over bias": models["over_bias"].map(lambda value: "" if pd.isna(value) else f"{value:.1f}"),
        "hits": models["hit_rate"].map("{:.0%}".format),
    }
    note = "Evidence and predictive density of people left out (difference to the best) in nats, summed over people."
    return f"{pd.DataFrame(columns).to_string(index=False)}\n{note}"


def _behaviour(found: Comparison) -> list[str]:
    """Say whether the models would have behaved as the people did."""
    own = found.check_summary
    own = own[(own["group"] == "everyone") & (own["measure"] == "correct")]
    if own.empty:
        return []
    parts = [f"{row['model']} {row['share_inside']:.0%} (p {row['p_value']:.2f})" for _, row in own.iterrows()]
    return [f"Learning curve of everyone, bins inside the 95% band of simulated cohorts: {', '.join(parts)}."]
