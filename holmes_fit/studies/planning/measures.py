"""What a design of so many trials and people is good for, from people who were simulated and fitted.

Fits are what costs. So a few people are simulated for each number of trials, and groups of any size are made of them:
how well one person is known needs no group, the precision of a group's mean follows from how well its people are known,
and which model a group follows is seen in many groups drawn from the simulated people.
"""

from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np
import pandas as pd

from holmes_fit.groups.pooling.priors import GroupPrior
from holmes_fit.models.filters.draws import stream_key
from holmes_fit.runs.knowledge import Marginal
from holmes_fit.runs.schema import of
from holmes_fit.settings.spaces import FreeParameter, Space
from holmes_fit.studies.planning.groups import group_mean_sd
from holmes_fit.studies.recovery.power import RULES, power_table
from holmes_fit.studies.statistics import Estimate, Values, bootstrapped, correlation, rmse, share

RULE = next(iter(RULES))
ALL, MOST = 1.0, 0.75  # which share of a group follows the model, where it is looked for
OF_MODELS = {"power": ALL, "power_75": MOST}
POWER = of("plan_power.csv").columns
TABLE = of("plan.csv").columns


def plan_table(
    people: pd.DataFrame,
    information: Mapping[tuple[int, str], Values],
    power: pd.DataFrame,
    spaces: Mapping[str, Space],
    prior: GroupPrior,
    subjects: Sequence[int],
    seed: int,
) -> pd.DataFrame:
    """Return ``plan.csv``: a row for each number of trials and of subjects, model and parameter.

    People are those of ``people_table`` with the column ``trials``; ``information`` is by the number of trials and the
    model. Every measure has its 95% interval beside it, which is about the people who were simulated: with more of them
    it becomes narrower. What is about one person is the same for all sizes of groups. ``power`` is against the model
    that is the hardest to tell from the true one, ``against``.
    """
    rows = []
    for (trials, model), known in information.items():
        own = people[(people["trials"] == trials) & (people["model"] == model)]
        rng = np.random.default_rng(int(stream_key(seed, f"plan/{trials}/{model}")))
        axes = spaces[model].free
        of_axes = [_about(own[own["parameter"] == axis.name], axis, rng) for axis in axes]
        for size in subjects:
            who = {"trials": trials, "subjects": size, "model": model, **_hardest(power, trials, size, model)}
            means = group_mean_sd(known, [Marginal.of_prior(axis).moments[1] for axis in axes], prior, size, rng)
            for about, mean in zip(of_axes, means, strict=True):
                rows.append({**who, **about, **_columns({"group_mean_sd": mean})})
    return pd.DataFrame(rows, columns=list(TABLE)).sort_values(["trials", "subjects"], kind="stable", ignore_index=True)


def power_by_length(
    log_evidence: Mapping[int, Mapping[str, pd.DataFrame]], subjects: Sequence[int], seed: int
) -> pd.DataFrame:
    """Return ``plan_power.csv``: how often a model is found to be the more frequent one, in groups of each size.

    Log evidences, people x models, are by the number of trials and the model that people follow.
    """
    pairs = [
        (trials, model, other, _power_of(of_models, model, other, subjects, seed))
        for trials, of_models in log_evidence.items()
        for model, other in permutations(of_models, 2)
    ]
    tables = [
        own.drop(columns=["model", "against"]).assign(trials=trials, model=model, against=other)
        for trials, model, other, own in pairs
    ]
    return pd.concat(tables, ignore_index=True)[list(POWER)] if tables else pd.DataFrame(columns=list(POWER))


def _power_of(
    log_evidence: Mapping[str, pd.DataFrame], model: str, other: str, subjects: Sequence[int], seed: int
) -> pd.DataFrame:
    """Return the power to find one model against one other.

    A recovery study asks for HOLMES; a plan does not know which will be found, and asks for both. The model that is to
    be found goes last, and names are replaced, so that none is special and all pairs have the same luck.
    """
    names = {other: "other", model: "model"}
    pair = {name: log_evidence[truth][[other, model]].rename(columns=names) for truth, name in names.items()}
    found = power_table(pair, seed, sizes=subjects, frequencies=tuple(OF_MODELS.values()))
    return found[found["rule"] == RULE]


def _about(people: pd.DataFrame, axis: FreeParameter, rng: np.random.Generator) -> dict[str, object]:
    """Return how well one person's value of a parameter is known, and how well it was before."""
    prior = {"prior_width": prior_width(axis), "prior_sd": Marginal.of_prior(axis).moments[1]}
    who = {"parameter": axis.name, "people": len(people)}
    ends = [axis.parameter.to_scale(people[name].to_numpy(dtype=np.float64)) for name in ("lower", "upper")]
    width = ends[1] - ends[0]
    truth, mean = (people[f"{name}_on_scale"].to_numpy(dtype=np.float64) for name in ("truth", "mean"))
    found = bootstrapped(lambda one, _: np.asarray(one.mean(axis=-1)), width, width, rng)
    measures = {
        "interval_width": found,
        "interval_share": Estimate(*(value / prior["prior_width"] for value in found)),
        "correlation": bootstrapped(correlation, truth, mean, rng),
        "rmse": bootstrapped(rmse, truth, mean, rng),
        "coverage": share(int(people["covered"].astype(bool).sum()), len(people)),
    }
    return {**who, **prior, **_columns(measures)}


def prior_width(axis: FreeParameter) -> float:
    """Return the width of the 95% interval of the fitting prior, on the scale of search."""
    lower, upper = Marginal.of_prior(axis).positions_at((0.025, 0.975))
    return float(upper - lower)


def _hardest(power: pd.DataFrame, trials: int, size: int, model: str) -> dict[str, object]:
    """Return the power against that other model which is the hardest to tell, if there is one."""
    own = power[(power["trials"] == trials) & (power["group_size"] == size) & (power["model"] == model)]
    if own.empty:
        return {"against": ""}
    against = own[own["frequency"] == MOST].sort_values("power", kind="stable")["against"].iloc[0]
    found: dict[str, object] = {"against": against}
    for name, frequency in OF_MODELS.items():
        row = own[(own["against"] == against) & (own["frequency"] == frequency)].iloc[0]
        found |= _columns({name: Estimate(row["power"], row["lower"], row["upper"])})
    return found


def _columns(estimates: Mapping[str, Estimate]) -> dict[str, float]:
    ends = {"": "value", "_lower": "lower", "_upper": "upper"}
    return {f"{name}{end}": getattr(found, field) for name, found in estimates.items() for end, field in ends.items()}
