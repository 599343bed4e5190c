"""Run folders of invented people, as large and as odd as a test wants them, in the very formats of real ones."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from holmes_fit._support.csv_tables import write_table
from holmes_fit.models import registry
from holmes_fit.models.registry import descriptions
from holmes_fit.runs.described import ABOUT
from holmes_fit.runs.folder import Run, open_run
from holmes_fit.runs.schema import frame, ordered
from holmes_fit.settings.preset import load_preset

SEED = 20
PARAMETERS: dict[str, tuple[str, ...]] = {
    **{name: (*(one.name for one in model.parameters), "beta", "lapse") for name, model in registry.MODELS.items()},
    "flat": ("alpha", "omega", "beta", "lapse"),
    "holmes": ("alpha", "omega", "beta", "lapse"),
    "rescorla_wagner": ("learning_rate", "beta", "lapse"),
    "bias": ("choice_probability",),
}
SCALES = {"lapse": "logit", "choice_probability": "logit"}
CENTRES = defaultdict(float, alpha=-0.6, omega=-1.0, beta=0.7, lapse=-3.5, learning_rate=-2.0)
SPREADS = defaultdict(
    lambda: 0.5, alpha=0.9, omega=0.6, beta=0.4, lapse=0.9, learning_rate=0.3, choice_probability=0.15
)
CUES = ("x1", "x2", "x3", "x4")
NODES = 9


@dataclass(frozen=True)
class Sample:
    """What the invented cohort is like."""

    n_people: int = 12
    n_trials: int = 40
    groups: tuple[str, ...] = ("control", "patient")
    models: tuple[str, ...] = ("flat", "holmes", "rescorla_wagner", "bias")
    names: tuple[str, ...] = ()  # of the first people
    label: str = ""
    pooled: bool = True
    compared: bool = True
    recovered: bool = True
    warned: bool = True  # a noisy likelihood, a failed person, unconverged group models
    records: bool = True
    problems: int = 1  # that each person learns afresh, each a condition if there are several
    tested: int = 0  # trials at the end of each problem, without feedback

    @property
    def subjects(self) -> list[str]:
        return [*self.names, *(f"s{number:02d}" for number in range(len(self.names) + 1, self.n_people + 1))]

    @property
    def group_of(self) -> list[str]:
        return [self.groups[place % len(self.groups)] if self.groups else "" for place in range(self.n_people)]

    @property
    def mixed(self) -> tuple[str, ...]:
        return self.models

    @property
    def studied(self) -> tuple[str, ...]:
        """The models of the recovery study."""
        return tuple(name for name in self.models if name in ("flat", "holmes")) or self.models[:1]


def make_run(folder: Path, sample: Sample | None = None) -> Path:
    """Write the run folder, and return it."""
    sample = sample or Sample()
    rng = np.random.default_rng(SEED)
    keys = list(product(sample.models, sample.subjects))
    about = {
        "command": "holmes-fit fit /home/someone/data.csv --out RUN",
        "label": sample.label,
        "python": "3.11.7",
        "holmes_fit": "0.1.0",
        "code": "13" * 32,
        ABOUT: descriptions(registry.MODELS[name] for name in sample.models if name in registry.MODELS),
    }
    with open_run(folder, identity=_identity(sample), about=about, keys=keys) as run:
        _fix_the_date(run)
        trials = _trials(sample, rng)
        _write_data(run, sample, trials)
        models = _write_fits(run, sample, trials, rng)
        if sample.pooled:
            _write_pool(run, sample, rng)
        if sample.compared:
            _write_comparison(run, sample, models, rng)
            _write_predictive(run, sample, trials, rng)
        if sample.recovered:
            write_recovery(run.root / "recovery", sample, rng)
    return folder


def _fix_the_date(run: Run) -> None:
    path = run.root / "manifest.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "begun": "2026-01-02T03:04:05+00:00"}, indent=2) + "\n")


def _identity(sample: Sample) -> dict[str, Any]:
    return {
        "kind": "fit",
        "trials": "d8" * 32,
        "protocol": {"name": "weather_prediction", "sha256": "20" * 32},
        "preset": load_preset("default").model_dump(mode="json", exclude_none=True),
        "models": list(sample.models),
        "seed": 0,
        "observer": {
            "particles": 200, "resampling": "systematic", "branch_counts": "particle", "sticky_by": "branch",
            "max_depth": 20, "max_branches": 20,
        },
        "results": 1,
        "packages": {"numba": "0.68.1", "numpy": "2.4.6", "optuna": "5.0.0", "pandas": "3.1.1", "scipy": "1.17.1"},
    }  # fmt: skip


def _is_failed(sample: Sample, place: int) -> bool:
    return sample.warned and place == sample.n_people - 1 and sample.n_people > 3


def _n_trials(sample: Sample, place: int) -> int:
    """The second person has stopped after three trials."""
    return 3 if sample.warned and place == 1 else sample.n_trials


def _trials(sample: Sample, rng: np.random.Generator) -> list[pd.DataFrame]:
    found = []
    for place, subject in enumerate(sample.subjects):
        n = _n_trials(sample, place)
        cues = rng.integers(0, 2, size=(n, len(CUES)))
        outcome = (rng.random(n) < 0.2 + 0.6 * cues[:, 0]).astype(int)
        good = 0.5 + 0.35 * (1 - np.exp(-3 * np.arange(n) / sample.n_trials))
        choice = np.where(rng.random(n) < good, outcome, 1 - outcome).astype(float)
        choice[rng.random(n) < 0.03] = np.nan
        if _is_failed(sample, place):
            choice[0], choice[1:] = 1.0, np.nan
        table = pd.DataFrame({"subject": subject, "restart": "", "trial": np.arange(1, n + 1)})
        table[list(CUES)] = cues
        problem = 1 + np.arange(n) * sample.problems // n
        left = np.cumsum(np.bincount(problem))[problem] - np.arange(n)
        table = table.assign(feedback=(left > sample.tested).astype(int))
        if sample.problems > 1:
            table = table.assign(restart=problem.astype(str), problem=problem, condition=[f"rule {k}" for k in problem])
        found.append(table.assign(choice=choice, outcome=outcome, p_hat=np.where(outcome == 1, good, 1 - good)))
    return found


def _write_data(run: Run, sample: Sample, trials: Sequence[pd.DataFrame]) -> None:
    columns = {"outcome": "outcome", "feedback": "feedback", "restart": ["problem"] if sample.problems > 1 else []}
    protocol = {"name": "weather_prediction", "title": "Weather prediction", "columns": columns}
    (run.root / "protocol.json").write_text(json.dumps({**protocol, "features": {name: {} for name in CUES}}))
    every = pd.concat(trials, ignore_index=True)
    run.write_table("trials.csv", every.drop(columns=["restart", "p_hat"]))
    people = pd.DataFrame({"subject": sample.subjects})
    if sample.groups:
        people["group"] = sample.group_of
    people["age"] = 20 + np.arange(sample.n_people) % 50
    run.write_table("subjects.csv", people)
    out = [("x99", "least_answered", "0.42", "at least 0.8", "left out")] if sample.warned else []
    run.write_table("exclusions.csv", frame("exclusions.csv", out))


# --------------------------------------------------------------------------------------------------------- fits
def _natural(parameter: str, value: Any) -> Any:
    return 1 / (1 + np.exp(-value)) if parameter in SCALES else np.exp(value)


def _estimate(parameter: str, mean: float, sd: float) -> dict[str, float]:
    lower, median, upper = (float(_natural(parameter, mean + z * sd)) for z in (-1.96, 0, 1.96))
    return {"mean": median * 1.05, "sd": (upper - lower) / 4, "lower": lower, "median": median, "upper": upper}


def _write_fits(run: Run, sample: Sample, trials: Sequence[pd.DataFrame], rng: np.random.Generator) -> pd.DataFrame:
    fits, models, fitted, trees, failures = [], [], [], [], []
    for place, (subject, table) in enumerate(zip(sample.subjects, trials, strict=True)):
        base = -0.55 * len(table) - 5 * rng.random()
        for model in sample.models:
            who = {"subject": subject, "model": model}
            if _is_failed(sample, place):
                failures.append({**who, "reason": "all answers are missed"})
                continue
            warning = _person_warning(sample, place, model)
            fits += _parameters(who, warning, rng)
            gain = {"holmes": 1.2, "flat": 0.0, "rescorla_wagner": -1.0}.get(model, -6.0)
            models.append(_model_row(who, table, base + gain + rng.normal(0, 1.5), warning, rng))
            fitted.append(_fitted(who, table, rng))
            if model in ("flat", "holmes"):
                trees += [_tree({**who, "restart": restart}, rng) for restart in table["restart"].unique()]
            if sample.records:
                run.save_record((model, subject), {"warnings": []}, _lattice(model, rng))
    run.write_table("fits.csv", frame("fits.csv", fits))
    run.write_table("models.csv", frame("models.csv", models))
    run.write_table("trials_fitted.csv", pd.concat(fitted, ignore_index=True))
    run.write_table("trees.csv", pd.concat(trees, ignore_index=True) if trees else frame("trees.csv", []))
    run.write_table("failures.csv", frame("failures.csv", failures))
    run.write_table("search.csv", frame("search.csv", []))
    return pd.DataFrame(models)


def _person_warning(sample: Sample, place: int, model: str) -> str:
    if not sample.warned:
        return ""
    if place == 0 and model == "holmes":
        return "noisy likelihood: the log evidence is uncertain by 1.20 nats with 32 replicates, above 0.5"
    return f"few answers ({_n_trials(sample, place)}): the estimates are mostly the prior" if place == 1 else ""


def _parameters(who: dict[str, str], warning: str, rng: np.random.Generator) -> list[dict[str, Any]]:
    rows = []
    for name in PARAMETERS[who["model"]]:
        sd = SPREADS[name] * rng.uniform(0.6, 1.0)
        mean = CENTRES[name] + rng.normal(0, 0.6)
        value = float(_natural(name, mean))
        row = {**who, "parameter": name, "standing": "free", "ml": value * 1.2, "map": value}
        row |= _estimate(name, mean, sd) | {"scale": SCALES.get(name, "log"), "mean_on_scale": mean, "sd_on_scale": sd}
        row |= {"prior": "lognormal:0.5,1", "prior_sd_on_scale": 0.95, "low": 0.01, "high": 20.0}
        rows.append(row | {"at_bound": "high" if rng.random() < 0.04 else "", "replicates": 48, "warning": warning})
    return rows


def _model_row(
    who: dict[str, str], table: pd.DataFrame, evidence: float, warning: str, rng: np.random.Generator
) -> dict[str, Any]:
    k, n = len(PARAMETERS[who["model"]]), int(table["choice"].notna().sum())
    top = evidence + 4
    row = {**who, "n_trials": len(table), "n_answered": n, "n_parameters": k, "log_likelihood": top}
    row |= {"log_likelihood_error": 0.05, "log_likelihood_map": top - 0.3, "log_likelihood_map_error": 0.05}
    exact = who["model"] in ("bias", "rescorla_wagner")
    row |= {"aic": 2 * k - 2 * top if exact else np.nan, "bic": k * np.log(n) - 2 * top if exact else np.nan}
    row["log_evidence"] = evidence
    error, effective, batch_sd, hit_rate = rng.uniform((0.02, 3, 0.05, 0.5), (0.4, 30, 0.45, 0.9))
    row |= {
        "log_evidence_error": error,
        "log_evidence_bias": -0.02,
        "lattice_error": 0.05,
        "replicates": 48,
        "effective_replicates": effective,
    }
    return row | {
        "batch_sd": batch_sd,
        "pseudo_r2": 1 + top / (n * np.log(2)),
        "hit_rate": hit_rate,
        "warning": warning,
    }


def _fitted(who: dict[str, str], table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    p_hat = np.clip(table["p_hat"] + rng.normal(0, 0.05, len(table)), 0.02, 0.98)
    p_choice = 0.02 + 0.96 * p_hat
    chosen = np.where(table["choice"] == 1, p_choice, 1 - p_choice)
    error = (table["outcome"] - p_hat).where(table["feedback"] == 1)
    log_p = np.log(chosen).where(table["choice"].notna()) if isinstance(chosen, pd.Series) else np.log(chosen)
    return pd.DataFrame(
        {
            "subject": who["subject"], "restart": table["restart"], "trial": table["trial"], "model": who["model"],
            "choice": table["choice"], "outcome": table["outcome"], "p_hat": p_hat,
            "prediction_error": error, "p_choice": p_choice, "log_p_chosen": log_p,
        }
    )  # fmt: skip


def _tree(who: dict[str, str], rng: np.random.Generator) -> pd.DataFrame:
    shape = [(1, 0, 0, 0), (2, 0, 0, 1)]
    if who["model"] == "holmes":
        shape += [(3, 1, 1, 0), (4, 1, 1, 1), (5, 2, 1, 0)]
    nodes = pd.DataFrame(shape, columns=["node", "parent", "level", "branch"])
    nodes.insert(0, "model", who["model"])
    nodes.insert(0, "restart", who["restart"])
    nodes.insert(0, "subject", who["subject"])
    return nodes.assign(
        visits=[20.0, 20.0, 9.0, 11.0, 8.0][: len(nodes)],
        leaf_visits=[5.0, 12.0, 9.0, 11.0, 8.0][: len(nodes)],
        outcome_rate=rng.random(len(nodes)),
        **{name: rng.random(len(nodes)) for name in CUES},
    )


def _lattice(model: str, rng: np.random.Generator) -> dict[str, Any]:
    """A bump over the parameters."""
    names = PARAMETERS[model]
    grids = [np.linspace(CENTRES[name] - 2, CENTRES[name] + 2, NODES) for name in names]
    bumps = [
        -0.5 * ((grid - CENTRES[name] - rng.normal(0, 0.5)) / SPREADS[name]) ** 2
        for grid, name in zip(grids, names, strict=True)
    ]
    total = np.zeros([NODES] * len(names))
    for axis, bump in enumerate(bumps):
        total = total + bump.reshape([-1 if place == axis else 1 for place in range(len(names))])
    arrays = {"log_likelihood": (total - 100).astype(np.float32)}
    flat_prior = np.full(NODES, -np.log(NODES))
    arrays |= {f"positions_{name}": grid for name, grid in zip(names, grids, strict=True)}
    return arrays | {f"log_prior_{name}": flat_prior for name in names}


# --------------------------------------------------------------------------------------------------------- pooling
def _write_pool(run: Run, sample: Sample, rng: np.random.Generator) -> None:
    fits = run.read_table("fits.csv")
    free = fits[fits["standing"] == "free"]
    rows = []
    for (model, parameter), own in free.groupby(["model", "parameter"], sort=False):
        centre = own["mean_on_scale"].mean()
        for _, row in own.iterrows():
            mean, sd = centre + 0.5 * (row["mean_on_scale"] - centre), 0.6 * row["sd_on_scale"]
            entry = {"subject": row["subject"], "model": model, "parameter": parameter}
            rows.append({**entry, **_estimate(parameter, mean, sd), "mean_on_scale": mean, "sd_on_scale": sd})
    pooled = pd.DataFrame(rows).set_index(["model", "subject", "parameter"])
    order = pd.MultiIndex.from_frame(free[["model", "subject", "parameter"]].sort_values("model", kind="stable"))
    run.write_table("pooled.csv", pooled.loc[order].reset_index())
    quantities = []
    for (model, parameter), own in free.groupby(["model", "parameter"], sort=False):
        centre, scale = float(own["mean_on_scale"].mean()), SCALES.get(parameter, "log")
        entries = [("mean", "", scale, centre, 0.15), ("spread", "", scale, 0.5, 0.1)]
        if parameter == "omega" and len(sample.groups) > 1:
            last = sample.groups[-1]
            entries += [("effect", f"group[T.{last}]", scale, 0.4, 0.2)]
            entries += [("contrast", f"{last} - {sample.groups[0]}", "natural", 0.2, 0.12)]
        for quantity, name, on, mean, sd in entries:
            quantities.append(_quantity(model, parameter, quantity, name, on, mean, sd, rng))
        natural = _estimate(parameter, centre, 0.15)
        quantities.append(_quantity(model, parameter, "median", "", "natural", 0.0, 0.0, rng) | natural)
    run.write_table("group.csv", pd.DataFrame(quantities))
    bad = "3 divergences; R-hat 1.08: the chains do not agree"
    run.write_table(
        "pooling.csv",
        pd.DataFrame(
            {
                "model": model, "n_subjects": free["subject"].nunique(), "formulas": "omega ~ group",
                "divergences": 3 if sample.warned and model == "holmes" else 0, "r_hat": 1.002, "ess_bulk": 1800.0,
                "ess_tail": 1500.0, "merging_error": 0.1, "noise_error": 0.2, "noise_shift": 0.1,
                "warning": bad if sample.warned and model == "holmes" else "",
            }
            for model in sample.models
        ),
    )  # fmt: skip
    if len(sample.groups) > 1:
        about = {"formula": "correct ~ group", "n_subjects": sample.n_people, "n_answers": 40 * sample.n_people}
        effect = {"estimate": 0.35, "standard_error": 0.2, "lower": -0.05, "upper": 0.75, "p": 0.09, "warning": ""}
        terms = [
            {**about, "term": "Intercept", **effect, "estimate": 0.8},
            {**about, "term": f"group[T.{sample.groups[-1]}]", **effect},
        ]
        run.write_table("behaviour.csv", pd.DataFrame(terms))


def _quantity(
    model: str, parameter: str, quantity: str, name: str, scale: str, mean: float, sd: float, rng: np.random.Generator
) -> dict[str, Any]:
    row = {"model": model, "parameter": parameter, "quantity": quantity, "name": name, "scale": scale}
    row |= {"mean": mean, "sd": sd, "lower": mean - 1.96 * sd, "median": mean, "upper": mean + 1.96 * sd}
    above = float(np.clip(0.5 + mean, 0, 1)) if quantity in ("effect", "contrast") else np.nan
    return row | {
        "probability_above_0": above,
        "r_hat": 1.001,
        "ess_bulk": 2000.0,
        "ess_tail": 1500.0,
        "divergences": 0,
    }


# --------------------------------------------------------------------------------------------------------- comparison
def _write_comparison(run: Run, sample: Sample, models: pd.DataFrame, rng: np.random.Generator) -> None:
    mixed = list(sample.mixed)
    group_of = dict(zip(sample.subjects, sample.group_of, strict=True))
    rows = []
    for subject, own in models[models["model"].isin(mixed)].groupby("subject", sort=False):
        evidence = own.set_index("model")["log_evidence"]
        weights = np.exp(evidence - evidence.max())
        for model in mixed:
            row = {"subject": subject, "group": group_of[str(subject)], "model": model}
            row |= {"probability": weights[model] / weights.sum(), "log_evidence": evidence[model]}
            row |= {"log_evidence_error": 0.15, "log_evidence_difference": evidence[model] - evidence.max()}
            rows.append({**row, "warning": ""})
    probabilities = pd.DataFrame(rows)
    run.write_table("model_probabilities.csv", probabilities)
    frequencies = []
    for group in ("everyone", *(sample.groups if len(sample.groups) > 1 else ())):
        own = probabilities if group == "everyone" else probabilities[probabilities["group"] == group]
        for model in mixed:
            mean = float(own.loc[own["model"] == model, "probability"].mean())
            n = own["subject"].nunique()
            sd = float(np.sqrt(mean * (1 - mean) / (n + 2)))
            low, high = np.clip([mean - 2 * sd, mean + 2 * sd], 0.01, 0.99)
            frequencies.append(
                {
                    "group": group, "model": model, "n_subjects": n, "mean": mean, "sd": sd, "lower": low,
                    "median": mean + 0.004, "upper": high, "lower90": low + 0.02, "upper90": high - 0.02,
                }
            )  # fmt: skip
    run.write_table("frequencies.csv", pd.DataFrame(frequencies))
    run.write_table("families.csv", _families(mixed, pd.DataFrame(frequencies)))
    pairs = [
        (model, above, below, 0.12, -0.2, 0.13, 0.44, 0.78)
        for model in mixed
        for below, above in pairwise(sample.groups)
        if len(mixed) > 1
    ]
    run.write_table("frequency_differences.csv", frame("frequency_differences.csv", pairs))
    checks: list[tuple[str, object, str]] = [
        ("divergences", 0, "transitions that went wrong"), ("r_hat", 1.003, ""), ("ess_bulk", 2100.0, ""),
        ("ess_tail", 1900.0, ""), ("imputed_effective", 0.99, ""), ("omnibus_risk", 0.08, "all are equally frequent"),
        ("n_subjects", probabilities["subject"].nunique(), ""), ("n_models", len(mixed), ""),
    ]  # fmt: skip
    if sample.warned:
        checks.append(("warning", "", "R-hat 1.03: the chains do not agree yet"))
    run.write_table("mixture.csv", frame("mixture.csv", checks))
    run.write_table("prior_sensitivity.csv", _prior_sensitivity(mixed, models))
    run.write_table("comparison.csv", _comparison(sample, models, probabilities, pd.DataFrame(frequencies)))


def _families(mixed: Sequence[str], frequencies: pd.DataFrame) -> pd.DataFrame:
    own = frequencies[frequencies["model"].isin(mixed)]
    own = own.assign(family=own["model"].map(lambda name: getattr(registry.MODELS[name], "family", "") or name))
    by_family = own.groupby(["group", "family"], sort=False)
    table = by_family[["mean", "lower", "median", "upper"]].sum().clip(upper=0.99).reset_index()
    table["models"] = by_family["model"].agg(" ".join).to_numpy()
    table["n_models"], table["n_subjects"] = by_family.size().to_numpy(), by_family["n_subjects"].first().to_numpy()
    everyone = table["group"] == "everyone"
    table["exceedance"] = table["mean"].where(everyone)
    table["protected_exceedance"], table["likeliest_for"] = 0.9 * table["exceedance"], 2.0
    table = pd.concat([table, pd.DataFrame([{"group": "everyone", "family": "exemplar", "models": "", "n_models": 0}])])
    return frame("families.csv", table.assign(sd=0.1).to_dict("records"))


def _prior_sensitivity(mixed: Sequence[str], models: pd.DataFrame) -> pd.DataFrame:
    total = models.groupby("model")["log_evidence"].sum()[list(mixed)]
    rows = []
    for width in (0.5, 1.0, 2.0):
        for model in mixed:
            frequency = (0.7 - 0.1 * width) if model == "holmes" else (0.3 + 0.1 * width) / max(1, len(mixed) - 1)
            row = {"model": model, "prior_width": width, "log_evidence": total[model] - width}
            row |= {"log_evidence_error": 0.9, "difference": total[model] - total.max(), "frequency": frequency}
            row |= {"frequency_lower": 0.8 * frequency, "frequency_upper": 1.2 * frequency}
            rows.append({**row, "protected_exceedance": 0.9 if model == "holmes" else 0.1})
    return pd.DataFrame(rows)


def _comparison(
    sample: Sample, models: pd.DataFrame, probabilities: pd.DataFrame, frequencies: pd.DataFrame
) -> pd.DataFrame:
    by_person = probabilities.groupby("subject")
    likeliest, best = (
        probabilities.loc[by_person[name].idxmax(), "model"].value_counts() for name in ("probability", "log_evidence")
    )
    sums = models.groupby("model")[["log_evidence", "log_likelihood"]].sum()
    sums[["aic", "bic"]] = models.groupby("model")[["aic", "bic"]].sum(min_count=1)
    rows = []
    for model in sample.models:
        row: dict[str, Any] = {"model": model, "n_subjects": int((models["model"] == model).sum())}
        row["in_mixture"] = model in sample.mixed
        own = frequencies[(frequencies["model"] == model) & (frequencies["group"] == "everyone")]
        if len(own):
            first = own.iloc[0]
            row |= {"frequency": first["mean"], "frequency_lower": first["lower"], "frequency_upper": first["upper"]}
            others = max(1, len(sample.mixed) - 1)
            row |= {"exceedance": 0.97 if model == "holmes" else 0.03 / others}
            row |= {"protected_exceedance": 0.96 if model == "holmes" else 0.04 / others}
            row |= {"likeliest_for": int(likeliest.get(model, 0)), "most_evidence_for": int(best.get(model, 0))}
        place = sample.models.index(model)
        row |= {
            **sums.loc[model],
            "log_evidence_error": 0.9 + 0.3 * place,
            "log_likelihood_error": 0.2,
            "loso": sums.loc[model, "log_evidence"] + 20,
        }
        row |= {"loso_error": 9.0, "loso_difference": 0.0 if model == "holmes" else -8.5 - place, "loso_k_high": place}
        row["loso_difference_error"] = 0.0 if model == "holmes" else 3.2 + 0.1 * place
        for other in ("bias", "rescorla_wagner"):
            if other in sums.index:
                row[f"over_{other}"] = sums.loc[model, "log_evidence"] - sums.loc[other, "log_evidence"]
            else:
                row[f"over_{other}"] = np.nan
            row[f"over_{other}_error"] = 0.0 if other == model else 1.1
        hit_rate = models.loc[models["model"] == model, "hit_rate"].mean()
        row |= {"hit_rate": hit_rate, "noisy": int(models["warning"].ne("").sum()), "warning": ""}
        rows.append(row)
    return frame("comparison.csv", rows).sort_values(["frequency", "log_evidence"], ascending=False, kind="stable")


def _write_predictive(run: Run, sample: Sample, trials: Sequence[pd.DataFrame], rng: np.random.Generator) -> None:
    bins = 8
    edges = np.linspace(0, sample.n_trials, bins + 1).round().astype(int)
    rows = []
    group_of = dict(zip(sample.subjects, sample.group_of, strict=True))
    every = pd.concat(trials, ignore_index=True).dropna(subset=["choice"])
    every["group"] = every["subject"].map(group_of)
    for model in sample.models:
        for group in ("everyone", *(sample.groups if len(sample.groups) > 1 else ())):
            own = every if group == "everyone" else every[every["group"] == group]
            for number, (first, last) in enumerate(pairwise(edges), start=1):
                here = own[(own["trial"] > first) & (own["trial"] <= last)]
                hits = {"correct": (here["choice"] == here["outcome"]).mean(), "choice": here["choice"].mean()}
                for measure, observed in hits.items():
                    simulated = 0.5 if model == "bias" else observed + rng.normal(0, 0.02)
                    rows.append(
                        {
                            "model": model, "by": "trial", "group": group, "condition": "", "bin": number,
                            "label": f"{first + 1}-{last}", "n_answers": len(here), "observed": observed,
                            "simulated": simulated, "lower": simulated - 0.05, "upper": simulated + 0.05,
                            "p_value": 0.4, "measure": measure,
                        }
                    )  # fmt: skip
    table = pd.DataFrame(rows)
    run.write_table("predictive.csv", table)
    summary = []
    for (model, group, measure), own in table.groupby(["model", "group", "measure"], sort=False):
        inside = own["observed"].between(own["lower"], own["upper"])
        row = {"model": model, "group": group, "measure": measure, "n_bins": len(own)}
        rmse = float(np.sqrt(((own["observed"] - own["simulated"]) ** 2).mean()))
        summary.append(row | {"rmse": rmse, "share_inside": inside.mean(), "p_value": 0.4})
    run.write_table("predictive_summary.csv", pd.DataFrame(summary))


# --------------------------------------------------------------------------------------------------------- recovery
def write_recovery(folder: Path, sample: Sample, rng: np.random.Generator, n: int = 30) -> Path:
    """Write the tables of a recovery study."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps({"about": {"label": sample.label}}))
    people, summary = [], []
    quality = {"alpha": 0.45, "omega": 0.85, "beta": 0.75, "lapse": 0.3}
    for model, parameter in product(sample.studied, quality):
        r = quality[parameter] - 0.07 * sample.studied.index(model)
        truth = CENTRES[parameter] + rng.normal(0, 0.8, n)
        for subject, on_scale in enumerate(truth):
            row: dict[str, Any] = {"model": model, "subject": f"r{subject}", "parameter": parameter}
            row |= {"scale": SCALES.get(parameter, "log"), "truth": _natural(parameter, on_scale)}
            row["truth_on_scale"] = on_scale
            for estimator, gain in (("ml", 0.0), ("map", 0.02), ("mean", 0.04), ("pooled", 0.08)):
                own = CENTRES[parameter] + (r + gain) * (on_scale - CENTRES[parameter])
                own += rng.normal(0, 0.8 * np.sqrt(1 - r**2))
                row |= {estimator: _natural(parameter, own), f"{estimator}_on_scale": own}
            sd = 0.8 * np.sqrt(1 - r**2) + 0.1
            row |= {"lower": _natural(parameter, own - 2 * sd), "upper": _natural(parameter, own + 2 * sd)}
            row |= {"pooled_lower": row["lower"], "pooled_upper": row["upper"], "covered": True}
            row |= {"pooled_covered": True, "at_bound": "", "sd_on_scale": sd, "pooled_sd_on_scale": 0.8 * sd}
            people.append(row | {"prior_sd_on_scale": 0.95, "batch_sd": 0.3, "warning": ""})
        for estimator in ("ml", "map", "mean", "pooled"):
            better = 0.02 * ("ml", "map", "mean", "pooled").index(estimator)
            scores = {"correlation": r + better, "rmse": 0.5, "coverage": 0.9 + better - 0.1 * r, "bias": 0.02}
            for measure, value in scores.items():
                entry = {"model": model, "parameter": parameter, "estimator": estimator, "n": n}
                entry |= {"measure": measure, "value": value, "lower": value - 0.1, "upper": value + 0.1}
                summary.append(entry)
    _write_by_schema(people, folder / "recovery_people.csv")
    _write_by_schema(summary, folder / "recovery.csv")
    _write_confusion(folder, sample, n, rng)
    return folder


def _write_by_schema(rows: list[dict[str, Any]], path: Path) -> None:
    write_table(ordered(path.name, pd.DataFrame(rows)), path)


def _write_confusion(folder: Path, sample: Sample, n: int, rng: np.random.Generator) -> None:
    rows = []
    for criterion, right in (("evidence", 0.7), ("pooled", 0.8)):
        for truth, chosen in product(sample.studied, repeat=2):
            share = right if truth == chosen else (1 - right) / max(1, len(sample.studied) - 1)
            row = {"criterion": criterion, "truth": truth, "chosen": chosen, "n": n, "count": round(share * n)}
            rows.append(
                row
                | {"share": share, "lower": share - 0.1, "upper": share + 0.1, "inversion": share}
                | {"inversion_lower": share - 0.1, "inversion_upper": share + 0.1}
            )
    _write_by_schema(rows, folder / "confusion.csv")
    power = [
        {
            "model": "holmes", "against": "flat", "group_size": size, "frequency": frequency,
            "rule": "protected exceedance above .95", "power": min(0.99, 0.02 * size * (frequency - 0.45)),
            "lower": 0.2, "upper": 0.9,
        }
        for size, frequency in product((10, 20, 40, 80), (0.5, 0.6, 0.7, 0.8, 0.9, 1.0))
    ]  # fmt: skip
    if len(sample.studied) > 1:
        _write_by_schema(power, folder / "power.csv")
    checks = [
        {
            "level": "person", "model": model, "parameter": parameter, "n": n,
            "chi2_p": rng.uniform(), "ecdf_p": rng.uniform(), "verdict": "passes",
        }
        for model, parameter in product(sample.studied, ("alpha", "omega", "beta", "lapse"))
    ]  # fmt: skip
    _write_by_schema(checks, folder / "sbc_summary.csv")
