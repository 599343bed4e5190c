"""The page that answers the question: flat or HOLMES, person by person and for the group."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from holmes_fit._support.numbers import MISSING, listed, probability, share
from holmes_fit.reporting.book import Book, Column, Panel
from holmes_fit.reporting.figures.axes import people_axis_height
from holmes_fit.reporting.figures.comparison import (
    PAGE,
    STRONG,
    draw_differences_of_models,
    draw_evidence_differences,
    draw_exceedance,
    draw_frequencies,
    draw_group_differences,
    draw_probabilities,
)
from holmes_fit.reporting.names import BASELINES, model_label
from holmes_fit.reporting.page import Page
from holmes_fit.reporting.run_data import EVERYONE, CohortData
from holmes_fit.reporting.text import brief, fixed, people, sentence, signed, whole
from holmes_fit.reporting.warnings import failure_warnings, mixture_warnings, noise_warnings

TITLE = "Flat or HOLMES"
SURE, FAVOURED = 0.95, 0.75  # protected exceedance probability
HALF = 0.5
MOST_SMALL_ROWS = 6  # shares of people in a small figure
PRIOR_WIDTHS = (0.5, 1.0, 2.0)


def mixed_models(data: CohortData) -> list[str]:
    """Return the models of the mixture, the most frequent one last, so that it stands at the top of bars."""
    assert data.probabilities is not None
    inside = list(dict.fromkeys(data.probabilities["model"]))
    return sorted(inside, key=lambda name: (name == data.lead_model, inside.index(name)))


def in_order(data: CohortData) -> list[str]:
    """Return people by their probability of the leading model, the highest first."""
    assert data.probabilities is not None
    rows = data.probabilities[data.probabilities["model"] == mixed_models(data)[-1]]
    ordered = rows.sort_values("probability", ascending=False, kind="stable")
    return [str(name) for name in ordered["subject"]]


def probabilities_panel(data: CohortData, name: str = "comparison_people", small: bool = False) -> Panel:
    """Return the panel with each person's probabilities; a small one does without groups."""
    assert data.probabilities is not None
    return Panel(
        name,
        partial(
            draw_probabilities,
            table=data.probabilities,
            models=mixed_models(data),
            order=in_order(data),
            group_of=data.group_of,
            groups=() if small else data.groups,
            counted=small,
        ),
        "Which model describes whom: each person's probabilities",
        "Each bar is a person; the white line is at even odds." if small else "",
        table=data.probabilities,
    )


def _models_in_groups(data: CohortData) -> list[str]:
    """Return the models whose shares are shown group by group: baselines are in the way, unless one is ahead."""
    models = mixed_models(data)[::-1]
    return [name for name in models if name not in BASELINES or name == data.lead_model]


def _frequency_rows(data: CohortData) -> int:
    return len(mixed_models(data)) + len(data.groups) * len(_models_in_groups(data))


def frequencies_panel(data: CohortData, name: str = "comparison_frequencies", small: bool = False) -> Panel:
    """Return the panel with the shares of people; a small one does without groups where models are many."""
    assert data.frequencies is not None
    models = mixed_models(data)[::-1]
    groups = () if small and _frequency_rows(data) > MOST_SMALL_ROWS else data.groups
    return Panel(
        name,
        partial(
            draw_frequencies, table=data.frequencies, models=models, groups=groups, in_groups=_models_in_groups(data)
        ),
        "How many people each model describes",
        "Mean, 90% (thick) and 95% (thin) intervals. Dashed: all models equally frequent.",
        table=data.frequencies,
        share=1.35,
    )


def build(data: CohortData, book: Book) -> None:
    """Write the pages."""
    assert data.probabilities is not None
    models = mixed_models(data)
    warnings = [*mixture_warnings(data), *noise_warnings(data), *failure_warnings(data)]
    book.begin(TITLE, finding(data), words(data), warnings)
    if len(models) > 1:
        book.row(88 if data.groups else 80, [probabilities_panel(data)])
        book.y += 10
        book.row(88 + people_axis_height(in_order(data), PAGE), [_evidence_panel(data, models)])
    else:
        book.words(f"Only {model_label(models[0])} was in the mixture, so there is nothing to weigh it against.")
    _group_row(data, book)
    if data.groups and data.differences is not None and len(data.differences):
        _differences(data, book)
    if data.comparison is not None:
        _table(data, book)


def finding(data: CohortData) -> str:
    """Return what was found, in one sentence."""
    models = mixed_models(data)
    lead = models[-1]
    rows = _rows(data.frequencies, lead)
    who = f"people in the group {brief(data.scope)}" if data.scope else "people"
    if len(models) == 1:
        return f"Only {model_label(lead)} was weighed: there is no other model to compare it with."
    if rows is None:  # the groups of this report are not those that have frequencies of their own
        best, _, n = _best_for(data, lead)
        return (
            f"{model_label(lead)} is the likeliest for {best} of {n} {who}, by posterior probability {_among(models)}."
        )
    estimate = (
        f"an estimated {share(rows['mean'])} of {who} (95% interval {share(rows['lower'])} to {share(rows['upper'])}) "
        f"{_among(models)}"
    )
    certainty = _certainty(data, lead, rows)
    if certainty < FAVOURED:
        undecided = (
            f"{model_label(models[0])} and {model_label(lead)} are not told apart"
            if len(models) == 2
            else ("no model stands out")
        )
        return sentence(f"{undecided}: {model_label(lead)} describes {estimate}")
    if certainty < SURE:
        return sentence(f"{model_label(lead)} is favoured, though not beyond doubt: it describes {estimate}")
    return sentence(f"{model_label(lead)} describes {estimate}")


def _among(models: Sequence[str]) -> str:
    """Name the models that a share is one among."""
    return f"among {listed([model_label(name) for name in models])}"


def _certainty(data: CohortData, lead: str, rows: pd.Series) -> float:
    """Return how probable it is that the leading model is the most frequent one; nothing where that is not known.

    Groups have no exceedance probabilities of their own. A model whose share is above one half is the most frequent one
    for sure, so that the interval of the share, and else its mean, say how probable that is at least.
    """
    if data.scope:
        return SURE if rows["lower90"] > HALF else float((rows["mean"] - HALF) / (1 - HALF))
    row = _model_row(data, lead)
    return np.nan if row is None else float(row["protected_exceedance"])


def words(data: CohortData) -> str:
    """Return how sure that is: for the group, and person by person."""
    models = mixed_models(data)
    if len(models) < 2:
        return ""
    lead = models[-1]
    parts = []
    row = _model_row(data, lead)
    if row is not None and not data.scope and np.isfinite(row["protected_exceedance"]):
        draws = mixture_draws(data)
        parts.append(
            f"It is the most frequent of them with probability {probability(row['exceedance'], draws)}, and "
            f"{probability(row['protected_exceedance'], draws)} once chance is allowed for (protected exceedance)."
        )
    best, by_evidence, n = _best_for(data, lead)
    assert data.probabilities is not None
    sure = int((data.probabilities.groupby("subject")["probability"].max() > SURE).sum())
    parts.append(
        f"Person by person, it is the likeliest for {best} of {people(n)} by posterior probability in the mixture, and "
        f"for {by_evidence} by their own evidence alone; for {sure} of {n} one model or another has a posterior "
        f"probability above {SURE}."
    )
    if not data.scope:
        parts.append(_beyond_baselines(row, lead))
    return " ".join(part for part in parts if part)


def _beyond_baselines(row: pd.Series | None, lead: str) -> str:
    """Say whether the leading model is worth its parameters: its evidence against that of the simplest models."""
    known = {
        name: float(row[f"over_{name}"])
        for name in BASELINES
        if row is not None and name != lead and np.isfinite(row[f"over_{name}"])
    }
    if not known:
        return ""
    assert row is not None
    errors = {name: fixed(row[f"over_{name}_error"], 1) for name in known}
    told = listed(
        [f"{signed(value, 1)} ± {errors[name]} nats over {model_label(name)}" for name, value in known.items()]
    )
    ahead = [model_label(name) for name, value in known.items() if value < STRONG]
    doubt = f", so that {listed(ahead)} explains the choices about as well, or better" if ahead else ""
    return f"Against the baselines, its log evidence summed over people is {told}{doubt}."


def _with_other_priors(data: CohortData) -> str:
    """Say which model would have been the most frequent with narrower and wider priors, by people's own evidences."""
    if data.prior_sensitivity is None or not len(data.prior_sensitivity):
        return ""
    table = data.prior_sensitivity
    best = table.loc[table.groupby("prior_width")["frequency"].idxmax()].sort_values("prior_width")
    told = [f"{model_label(row['model'])} ({share(row['frequency'])})" for _, row in best.iterrows()]
    if len(told) != len(PRIOR_WIDTHS):
        return ""
    narrow, own, wide = told
    change = "" if best["model"].nunique() == 1 else ": the answer depends on the priors"
    return (
        f"With priors half and twice as wide, the most frequent by people's own evidences is {narrow} and {wide}, "
        f"with those of the fit {own}{change}."
    )


def mixture_draws(data: CohortData) -> float:
    """Return how many effective draws the mixture has; without a limit where that is not known."""
    if data.mixture is None:
        return np.inf
    found = data.mixture.loc[data.mixture["quantity"] == "ess_bulk", "value"]
    return float(pd.to_numeric(found, errors="coerce").min()) if len(found) else np.inf


def _best_for(data: CohortData, model: str) -> tuple[int, int, int]:
    """Return for how many people a model is the likeliest in the mixture, for how many by evidence, and of how many."""
    assert data.probabilities is not None
    by_person = data.probabilities.groupby("subject")
    likeliest, best = (
        int((data.probabilities.loc[by_person[name].idxmax(), "model"] == model).sum())
        for name in ("probability", "log_evidence")
    )
    return likeliest, best, by_person.ngroups


def _evidence_panel(data: CohortData, models: list[str]) -> Panel:
    assert data.probabilities is not None
    lead, other = models[-1], _rival(data, models)
    return Panel(
        "comparison_evidence",
        partial(draw_evidence_differences, table=data.probabilities, above=lead, below=other, order=in_order(data)),
        f"Evidence of each person's choices for {model_label(lead)} over {model_label(other)}, in nats",
        "The same people in the same order as above. Lines: Monte Carlo errors. Grey band: odds below 20 to 1.",
        table=data.probabilities,
    )


def _rival(data: CohortData, models: list[str]) -> str:
    """Return the model to set beside the leading one: flat against HOLMES, if both are there."""
    lead = models[-1]
    pair = {"holmes": "flat", "flat": "holmes"}.get(lead)
    if pair in models:
        return str(pair)
    assert data.probabilities is not None
    sums = data.probabilities.groupby("model")["log_evidence"].sum()
    return str(sums.drop(lead).idxmax())


def _group_row(data: CohortData, book: Book) -> None:
    panels = []
    height = 150.0
    if data.frequencies is not None and len(mixed_models(data)) > 1:
        panels.append(frequencies_panel(data))
        height = max(height, 68 + 11 * _frequency_rows(data))
    if data.comparison is not None and not data.scope:
        table = data.comparison
        if table["protected_exceedance"].notna().sum() > 1:
            panels.append(
                Panel(
                    "comparison_exceedance",
                    partial(draw_exceedance, comparison=table, draws=mixture_draws(data)),
                    "Which model is the most frequent",
                    "Bars: protected exceedance. Diamonds: unprotected. Dashed: .95.",
                    share=0.9,
                    table=table[["model", "exceedance", "protected_exceedance"]],
                )
            )
        if table["loso_difference"].notna().sum() > 1:
            columns = ["model", "loso", "loso_error", "loso_difference", "loso_difference_error", "loso_k_high"]
            panels.append(
                Panel(
                    "comparison_leave_one_out",
                    partial(
                        draw_differences_of_models,
                        comparison=table,
                        column="loso_difference",
                        error="loso_difference_error",
                    ),
                    "Predicting a person who was left out",
                    "Log predictive density, against the best; lines: standard errors.",
                    share=1.15,
                    table=table[columns],
                )
            )
            height = max(height, 90 + 15 * table["loso_difference"].notna().sum())
    if panels:
        book.row(height, panels)


def _differences(data: CohortData, book: Book) -> None:
    """Say how the leading model's share differs between two groups in a line, and draw it between several."""
    assert data.differences is not None
    lead = mixed_models(data)[-1]
    rows = data.differences[data.differences["model"] == lead]
    if len(rows) == 1:
        row = rows.iloc[0]
        shown, low, high = (signed(100 * row[name], 0) for name in ("mean", "lower", "upper"))
        above, below = (brief(row[name]) for name in ("above", "below"))
        book.y += 10
        book.words(
            f"Share of {model_label(lead)}, {above} minus {below}: {shown} points (95% interval {low} to "
            f"{high}; above 0 with P = {probability(row['probability_above_0'], mixture_draws(data))})."
        )
    if len(rows) > 1:
        panel = Panel(
            "comparison_groups",
            partial(draw_group_differences, table=data.differences, model=lead, draws=mixture_draws(data)),
            f"Does the share of {model_label(lead)} differ between groups?",
            "Means and 95% intervals of the difference between two groups.",
            table=data.differences,
        )
        book.row(76 + 26 * len(rows), [panel])


def _table(data: CohortData, book: Book) -> None:
    assert data.comparison is not None
    book.need(60 + 9 * len(data.comparison))
    if data.scope:
        book.heading("The whole cohort, all groups")
    columns = [
        Column("model"),
        Column("people", right=True),
        Column("share", right=True),
        Column("likeliest for", right=True),
        Column("most evidence", right=True),
        Column("log evidence", right=True),
        Column("over bias", right=True),
        Column("over RW", right=True),
        Column("hit rate", right=True),
        Column("Pareto k > .7", right=True),
    ]
    rows = [
        [
            model_label(row["model"]),
            whole(row["n_subjects"]),
            share(row["frequency"]),
            whole(row["likeliest_for"]),
            whole(row["most_evidence_for"]),
            f"{fixed(row['log_evidence'], 1)} ± {fixed(row['log_evidence_error'], 1)}",
            _with_error(row, "over_bias"),
            _with_error(row, "over_rescorla_wagner"),
            fixed(row["hit_rate"], 3),
            whole(row["loso_k_high"]),
        ]
        for _, row in data.comparison.iterrows()
    ]
    book.table(columns, rows)
    book.note(
        "Sums over people ± Monte Carlo errors. Share: frequency in the mixture; likeliest for: people, by posterior "
        "probability in the mixture; most evidence: by their own evidence alone; RW: Rescorla–Wagner; Pareto k: people "
        "for whom leaving out cannot be trusted. "
        + " ".join(text for text in (_mixture_note(data), _with_other_priors(data)) if text)
    )


def _with_error(row: pd.Series, name: str) -> str:
    value = signed(row[name], 1)
    return value if value == MISSING or not row[f"{name}_error"] else f"{value} ± {fixed(row[f'{name}_error'], 1)}"


def _mixture_note(data: CohortData) -> str:
    if data.mixture is None:
        return ""
    values = dict(zip(data.mixture["quantity"], pd.to_numeric(data.mixture["value"], errors="coerce"), strict=True))

    def shown(name: str, places: int) -> str:
        return fixed(float(values[name]), places) if name in values else MISSING

    return (
        f"Mixture: {shown('divergences', 0)} divergences, R-hat {shown('r_hat', 3)}, effective draws "
        f"{shown('ess_bulk', 0)} (bulk) and {shown('ess_tail', 0)} (tail); Bayesian omnibus risk "
        f"{probability(float(values.get('omnibus_risk', np.nan)), mixture_draws(data))}."
    )


def _rows(table: pd.DataFrame | None, model: str) -> pd.Series | None:
    if table is None:
        return None
    rows = table[(table["model"] == model) & (table["group"] == EVERYONE)]
    return rows.iloc[0] if len(rows) else None


def _model_row(data: CohortData, model: str) -> pd.Series | None:
    if data.comparison is None:
        return None
    rows = data.comparison[data.comparison["model"] == model]
    return rows.iloc[0] if len(rows) else None


def _lacking(data: CohortData) -> str:
    if data.probabilities is None or not len(data.probabilities):
        return "The models were not compared: run holmes-fit compare RUN."
    if len(data.model_names) == 1:
        return f"Only {model_label(data.lead_model)} was fitted, and there is nothing to weigh it against."
    return ""


COMPARISON = Page("comparison", TITLE, build, _lacking)
