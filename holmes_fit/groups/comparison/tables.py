"""The tables of a comparison, as they are in the run folder."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit.fitting.summary import NOISY
from holmes_fit.groups.comparison.prediction import error_of_sum
from holmes_fit.groups.pooling.mixture import LEAST_EFFECTIVE
from holmes_fit.models.registry import baselines
from holmes_fit.runs.knowledge import summary
from holmes_fit.runs.schema import frame
from holmes_fit.trials.summaries import EVERYONE

if TYPE_CHECKING:
    from holmes_fit.groups.comparison.compare import Comparison


def models_table(found: Comparison) -> pd.DataFrame:
    """Return a row for each model: those of the mixture by their frequency, then the others by their evidence."""
    fits = {str(name): table for name, table in found.fits.groupby("model", sort=False)}
    evidence = {name: float(table["log_evidence"].sum()) for name, table in fits.items()}
    # Errors of different people, and of different models, are independent: all have draws of their own.
    errors = {name: float(np.sqrt((table["log_evidence_error"] ** 2).sum())) for name, table in fits.items()}
    best = max(found.left_out.values(), key=lambda each: each.total)
    rows = []
    for name, own in fits.items():
        left_out = found.left_out[name]
        away = left_out.density - best.density
        rows.append(
            {
                "model": name,
                "n_subjects": len(own),
                **_mixture_columns(found, name),
                "log_evidence": evidence[name],
                "log_evidence_error": errors[name],
                "aic": own["aic"].sum(skipna=False),
                "bic": own["bic"].sum(skipna=False),
                "log_likelihood": own["log_likelihood"].sum(),
                "log_likelihood_error": float(np.sqrt((own["log_likelihood_error"] ** 2).sum())),
                "loso": left_out.total,
                "loso_error": left_out.error,
                "loso_difference": float(away.sum()),
                "loso_difference_error": error_of_sum(away) if np.any(away) else 0.0,
                "loso_k_high": left_out.n_high,
                **_over_baselines(name, evidence, errors),
                "hit_rate": own["hit_rate"].mean(),
                "noisy": int(own["warning"].str.contains(NOISY, regex=False).sum()),
                "warning": f"leaving people out is unreliable for {left_out.n_high} of them" if left_out.n_high else "",
            }
        )
    table = pd.DataFrame(rows)
    return table.sort_values(["in_mixture", "frequency", "log_evidence"], ascending=False, ignore_index=True)


def _over_baselines(model: str, evidence: Mapping[str, float], errors: Mapping[str, float]) -> dict[str, float]:
    found = {}
    for base in baselines():
        found[f"over_{base}"] = evidence[model] - evidence.get(base, np.nan)
        found[f"over_{base}_error"] = 0.0 if base == model else float(np.hypot(errors[model], errors.get(base, np.nan)))
    return found


def _mixture_columns(found: Comparison, model: str) -> dict[str, object]:
    of_shares = ("frequency", "frequency_lower", "frequency_upper", "exceedance", "protected_exceedance")
    names = (*of_shares, "likeliest_for", "most_evidence_for")
    if model not in found.mixture.models:
        return {"in_mixture": False, **dict.fromkeys(names, np.nan)}
    number = found.mixture.models.index(model)
    share = found.shares.frequency[:, number]
    lower, upper = np.quantile(share, (0.025, 0.975))
    evidence = np.column_stack([each.log_evidence for each in found.mixture.lattices])
    counts = [int(np.sum(each.argmax(axis=1) == number)) for each in (found.mixture.probability, evidence)]
    values = (share.mean(), lower, upper, found.shares.exceedance[number], found.shares.protected[number], *counts)
    return {"in_mixture": True, **dict(zip(names, values, strict=True))}


def people_table(found: Comparison) -> pd.DataFrame:
    """Return a row for each person and model of the mixture."""
    shares, models = found.shares, found.mixture.models
    fits = found.fits.set_index(["subject", "model"])
    tables = []
    for person, subject in enumerate(found.mixture.subjects):
        own = fits.loc[subject].loc[list(models), ["log_evidence", "log_evidence_error", "warning"]].reset_index()
        own.insert(0, "subject", subject)
        own.insert(1, "group", shares.groups[shares.group_of[person]] if shares.groups else EVERYONE)
        own.insert(3, "probability", found.mixture.probability[person])
        own.insert(6, "log_evidence_difference", own["log_evidence"] - own["log_evidence"].max())
        tables.append(own)
    return pd.concat(tables, ignore_index=True)


def frequency_table(found: Comparison) -> pd.DataFrame:
    """Return a row for each group and model: everyone first."""
    shares = found.shares
    rows = _frequency_rows(found, EVERYONE, len(found.mixture.subjects), shares.frequency)
    for number, group in enumerate(shares.groups):
        rows += _frequency_rows(found, group, int(np.sum(shares.group_of == number)), shares.by_group[:, number])
    return pd.DataFrame(rows)


def _frequency_rows(
    found: Comparison, group: str, people: int, frequency: NDArray[np.float64]
) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for number, model in enumerate(found.mixture.models):
        share = frequency[:, number]
        lower, upper = np.quantile(share, (0.05, 0.95))
        about = {"group": group, "model": model, "n_subjects": people}
        rows.append(about | summary(share) | {"lower90": lower, "upper90": upper})
    return rows


def difference_table(found: Comparison) -> pd.DataFrame:
    """Return a row for each model and pair of groups: how much more frequent the model is in the first."""
    rows = []
    for number, model in enumerate(found.mixture.models):
        for below, above in combinations(range(len(found.shares.groups)), 2):
            share = found.shares.by_group[:, above, number] - found.shares.by_group[:, below, number]
            names = {"above": found.shares.groups[above], "below": found.shares.groups[below]}
            rows.append({"model": model, **names, **summary(share), "probability_above_0": np.mean(share > 0)})
    return frame("frequency_differences.csv", rows)


def checks_table(found: Comparison) -> pd.DataFrame:
    """Return how far the mixture can be trusted: a quantity a row, then its warnings."""
    checks = found.mixture.diagnostics
    rows: list[tuple[str, object, str]] = [
        ("n_subjects", len(found.mixture.subjects), "people"),
        ("n_models", len(found.mixture.models), "models of the mixture"),
        ("divergences", checks.divergences, "steps of NUTS that went astray; should be 0"),
        ("r_hat", checks.r_hat, "largest; should be below 1.01"),
        ("ess_bulk", checks.ess_bulk, "smallest; should be above 400"),
        ("ess_tail", checks.ess_tail, "smallest; should be above 400"),
        (
            "imputed_effective",
            float(found.mixture.effective.min()),
            "smallest share of effective draws when the evidences' errors are carried through; should be above "
            f"{LEAST_EFFECTIVE}",
        ),
        ("omnibus_risk", found.shares.risk, "probability that all models are equally frequent"),
    ]
    rows += [("warning", "", text) for text in found.warnings]
    return frame("mixture.csv", rows)
