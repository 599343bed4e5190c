"""The page that answers the question: flat or HOLMES, person by person and for the group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd

from holmes_fit._support.numbers import MISSING, listed, probability, share
from holmes_fit.reporting.blocks import Block, Panel, Row, Section, Table, Text, Warnings, numbers, texts
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
from holmes_fit.reporting.page import Figures, Page
from holmes_fit.reporting.run_data import EVERYONE, CohortData
from holmes_fit.reporting.sections.mixture import mixture_draws, mixture_note, with_other_priors
from holmes_fit.reporting.text import brief, fixed, people, sentence, signed, whole
from holmes_fit.reporting.warnings import failure_warnings, mixture_warnings, noise_warnings

TITLE = "Flat or HOLMES"
SURE, FAVOURED = 0.95, 0.75  # protected exceedance probability
HALF = 0.5
MOST_SMALL_ROWS = 6  # shares of people in a small figure
BESIDE = ("comparison_frequencies", "comparison_exceedance", "comparison_leave_one_out")
SUMS = (
    "Sums over people ± Monte Carlo errors. Share: frequency in the mixture; likeliest for: people, by posterior "
    "probability in the mixture; most evidence: by their own evidence alone; RW: Rescorla–Wagner; Pareto k: people "
    "for whom leaving out cannot be trusted."
)


def mixed_models(data: CohortData) -> list[str]:
    """Return the models of the mixture, the most frequent one last, so that it stands at the top of bars."""
    inside = list(dict.fromkeys(data["model_probabilities"]["model"]))
    return sorted(inside, key=lambda name: (name == data.lead_model, inside.index(name)))


def in_order(data: CohortData) -> list[str]:
    """Return people by their probability of the leading model, the highest first."""
    rows = data["model_probabilities"][data["model_probabilities"]["model"] == mixed_models(data)[-1]]
    ordered = rows.sort_values("probability", ascending=False, kind="stable")
    return [str(name) for name in ordered["subject"]]


def probabilities_panel(data: CohortData, name: str = "comparison_people", small: bool = False) -> Panel:
    """Return the panel with each person's probabilities; a small one does without groups."""
    return Panel(
        name,
        partial(
            draw_probabilities,
            table=data["model_probabilities"],
            models=mixed_models(data),
            order=in_order(data),
            group_of=data.group_of,
            words=data.words,
            groups=() if small else data.groups,
            counted=small,
        ),
        "Which model describes whom" if small else "Which model describes whom: each person's probabilities",
        "Each bar is a person; the white line is at even odds." if small else "",
        table=data["model_probabilities"],
    )


def _models_in_groups(data: CohortData) -> list[str]:
    """Return the models whose shares are shown group by group: baselines are in the way, unless one is ahead."""
    models = mixed_models(data)[::-1]
    return [name for name in models if not data.words.is_baseline(name) or name == data.lead_model]


def _frequency_rows(data: CohortData) -> int:
    return len(mixed_models(data)) + len(data.groups) * len(_models_in_groups(data))


def frequencies_panel(data: CohortData, name: str = "comparison_frequencies", small: bool = False) -> Panel:
    """Return the panel with the shares of people; a small one does without groups where models are many."""
    models = mixed_models(data)[::-1]
    groups = () if small and _frequency_rows(data) > MOST_SMALL_ROWS else data.groups
    table, in_groups = data["frequencies"], _models_in_groups(data)
    return Panel(
        name,
        partial(draw_frequencies, table=table, models=models, words=data.words, groups=groups, in_groups=in_groups),
        "How many people each model describes",
        "Mean, 90% (thick) and 95% (thin) intervals. Dashed: all models equally frequent.",
        table=table,
        share=1.35,
    )


def section(data: CohortData) -> Section:
    """Return the page."""
    models, drawn = mixed_models(data), {name: draw() for name, draw in figures(data).items()}
    beside = [drawn[name] for name in BESIDE if name in drawn]
    blocks: list[Block] = [
        Text(finding(data), "finding"),
        Text(words(data)),
        Warnings([*mixture_warnings(data), *noise_warnings(data), *failure_warnings(data)]),
    ]
    if len(models) > 1:
        names = people_axis_height(in_order(data), PAGE)
        blocks += [
            Row([drawn["comparison_people"]], 58, 90),
            Row([drawn["comparison_evidence"]], 56 + names, 90 + names),
        ]
    else:
        blocks.append(
            Text(f"Only {data.words.label(models[0])} was in the mixture, so there is nothing to weigh it against.")
        )
    if beside:
        n_rows = max(_frequency_rows(data), len(data["comparison"]) + 3)
        blocks.append(Row(beside, max(100, 34 + 11 * n_rows), max(130, 50 + 13 * n_rows)))
    blocks += _differences(data)
    if "comparison_groups" in drawn:
        n_rows = len(_lead_differences(data))
        blocks.append(Row([drawn["comparison_groups"]], 34 + 26 * n_rows))
    return Section(TITLE, [*blocks, *_table(data)])


def figures(data: CohortData) -> Figures:
    """Return the figures that the mixture and the comparison allow."""
    found: dict[str, Callable[[], Panel]] = {}
    several, table = len(mixed_models(data)) > 1, data["comparison"]
    if several:
        found["comparison_people"] = partial(probabilities_panel, data)
        found["comparison_evidence"] = partial(_evidence_panel, data)
    if several and data.has("frequencies"):
        found["comparison_frequencies"] = partial(frequencies_panel, data)
    if data.has("comparison") and not data.scope:
        if table["protected_exceedance"].notna().sum() > 1:
            found["comparison_exceedance"] = partial(_exceedance_panel, data)
        if table["loso_difference"].notna().sum() > 1:
            found["comparison_leave_one_out"] = partial(_leave_one_out_panel, data)
    if len(_lead_differences(data)) > 1:
        found["comparison_groups"] = partial(_groups_panel, data)
    return found


def finding(data: CohortData) -> str:
    """Return what was found, in one sentence."""
    models = mixed_models(data)
    lead = models[-1]
    rows = _row(data, "frequencies", lead)
    who = f"people in the group {brief(data.scope)}" if data.scope else "people"
    if len(models) == 1:
        return f"Only {data.words.label(lead)} was weighed: there is no other model to compare it with."
    if rows is None:  # the groups of this report are not those that have frequencies of their own
        best, _, n = _best_for(data, lead)
        return (
            f"{data.words.label(lead)} is the likeliest for {best} of {n} {who}, by posterior probability "
            f"{_among(data, models)}."
        )
    estimate = (
        f"an estimated {share(rows['mean'])} of {who} (95% interval {share(rows['lower'])} to {share(rows['upper'])}) "
        f"{_among(data, models)}"
    )
    certainty = _certainty(data, lead, rows)
    if certainty < FAVOURED:
        undecided = (
            f"{data.words.label(models[0])} and {data.words.label(lead)} are not told apart"
            if len(models) == 2
            else ("no model stands out")
        )
        return sentence(f"{undecided}: {data.words.label(lead)} describes {estimate}")
    if certainty < SURE:
        return sentence(f"{data.words.label(lead)} is favoured, though not beyond doubt: it describes {estimate}")
    return sentence(f"{data.words.label(lead)} describes {estimate}")


def _among(data: CohortData, models: Sequence[str]) -> str:
    """Name the models that a share is one among."""
    return f"among {listed([data.words.label(name) for name in models])}"


def _certainty(data: CohortData, lead: str, rows: pd.Series) -> float:
    """Return how probable it is that the leading model is the most frequent one; nothing where that is not known.

    Groups have no exceedance probabilities of their own. A model whose share is above one half is the most frequent one
    for sure, so that the interval of the share, and else its mean, say how probable that is at least.
    """
    if data.scope:
        return SURE if rows["lower90"] > HALF else float((rows["mean"] - HALF) / (1 - HALF))
    row = _row(data, "comparison", lead)
    return np.nan if row is None else float(row["protected_exceedance"])


def words(data: CohortData) -> str:
    """Return how sure that is: for the group, and person by person."""
    models = mixed_models(data)
    if len(models) < 2:
        return ""
    lead = models[-1]
    parts = []
    row = _row(data, "comparison", lead)
    if row is not None and not data.scope and np.isfinite(row["protected_exceedance"]):
        draws = mixture_draws(data)
        parts.append(
            f"It is the most frequent of them with probability {probability(row['exceedance'], draws)}, and "
            f"{probability(row['protected_exceedance'], draws)} once chance is allowed for (protected exceedance)."
        )
    best, by_evidence, n = _best_for(data, lead)
    sure = int((data["model_probabilities"].groupby("subject")["probability"].max() > SURE).sum())
    parts.append(
        f"Person by person, it is the likeliest for {best} of {people(n)} by posterior probability in the mixture, and "
        f"for {by_evidence} by their own evidence alone; for {sure} of {n} one model or another has a posterior "
        f"probability above {SURE}."
    )
    if not data.scope:
        parts.append(_beyond_baselines(data, row, lead))
    return " ".join(part for part in parts if part)


def _beyond_baselines(data: CohortData, row: pd.Series | None, lead: str) -> str:
    """Say whether the leading model is worth its parameters: its evidence against that of the simplest models."""
    if row is None:
        return ""
    others = [name for name in ("rescorla_wagner", "bias") if name != lead]
    known = {name: float(row[f"over_{name}"]) for name in others if np.isfinite(row[f"over_{name}"])}
    if not known:
        return ""
    errors = {name: fixed(row[f"over_{name}_error"], 1) for name in known}
    told = listed(
        [f"{signed(value, 1)} ± {errors[name]} nats over {data.words.label(name)}" for name, value in known.items()]
    )
    ahead = [data.words.label(name) for name, value in known.items() if value < STRONG]
    doubt = f", so that {listed(ahead)} explains the choices about as well, or better" if ahead else ""
    return f"Against the baselines, its log evidence summed over people is {told}{doubt}."


def _best_for(data: CohortData, model: str) -> tuple[int, int, int]:
    """Return for how many people a model is the likeliest in the mixture, for how many by evidence, and of how many."""
    by_person = data["model_probabilities"].groupby("subject")
    likeliest, best = (
        int((data["model_probabilities"].loc[by_person[name].idxmax(), "model"] == model).sum())
        for name in ("probability", "log_evidence")
    )
    return likeliest, best, by_person.ngroups


def _evidence_panel(data: CohortData) -> Panel:
    models = mixed_models(data)
    lead, other = models[-1], _rival(data, models)
    table, words = data["model_probabilities"], data.words
    return Panel(
        "comparison_evidence",
        partial(draw_evidence_differences, table=table, above=lead, below=other, order=in_order(data), words=words),
        f"Evidence of each person's choices for {words.label(lead)} over {words.label(other)}, in nats",
        "The same people in the same order as above. Lines: Monte Carlo errors. Grey band: odds below 20 to 1.",
        table=table,
    )


def _rival(data: CohortData, models: list[str]) -> str:
    """Return the model to set beside the leading one: flat against HOLMES, if both are there."""
    lead = models[-1]
    pair = {"holmes": "flat", "flat": "holmes"}.get(lead)
    if pair in models:
        return str(pair)
    sums = data["model_probabilities"].groupby("model")["log_evidence"].sum()
    return str(sums.drop(lead).idxmax())


def _exceedance_panel(data: CohortData) -> Panel:
    table = data["comparison"]
    return Panel(
        "comparison_exceedance",
        partial(draw_exceedance, comparison=table, words=data.words, draws=mixture_draws(data)),
        "Which model is the most frequent",
        "Bars: protected exceedance. Diamonds: unprotected. Dashed: .95.",
        share=0.9,
        table=table[["model", "exceedance", "protected_exceedance"]],
    )


def _leave_one_out_panel(data: CohortData) -> Panel:
    table, error = data["comparison"], "loso_difference_error"
    return Panel(
        "comparison_leave_one_out",
        partial(draw_differences_of_models, comparison=table, column="loso_difference", error=error, words=data.words),
        "Predicting a person who was left out",
        "Log predictive density, against the best; lines: standard errors.",
        share=1.15,
        table=table[["model", "loso", "loso_error", "loso_difference", error, "loso_k_high"]],
    )


def _lead_differences(data: CohortData) -> pd.DataFrame:
    """Return how the share of the leading model differs between groups."""
    table = data["frequency_differences"]
    return table[table["model"] == mixed_models(data)[-1]] if len(table) and data.groups else table[:0]


def _groups_panel(data: CohortData) -> Panel:
    lead, table = mixed_models(data)[-1], data["frequency_differences"]
    color = data.words.color(lead)
    return Panel(
        "comparison_groups",
        partial(draw_group_differences, table=table, model=lead, color=color, draws=mixture_draws(data)),
        f"Does the share of {data.words.label(lead)} differ between groups?",
        "Means and 95% intervals of the difference between two groups.",
        table=table,
    )


def _differences(data: CohortData) -> list[Text]:
    """Say how the leading model's share differs between two groups; between several, it is drawn."""
    rows = _lead_differences(data)
    if len(rows) != 1:
        return []
    row = rows.iloc[0]
    shown, low, high = (signed(100 * row[name], 0) for name in ("mean", "lower", "upper"))
    above, below = (brief(row[name]) for name in ("above", "below"))
    return [
        Text(
            f"Share of {data.words.label(row['model'])}, {above} minus {below}: {shown} points (95% interval {low} to "
            f"{high}; above 0 with P = {probability(row['probability_above_0'], mixture_draws(data))})."
        )
    ]


def _table(data: CohortData) -> Iterator[Block]:
    if not data.has("comparison"):
        return
    if data.scope:
        yield Text("The whole cohort, all groups", "heading")
    heads = ("people", "share", "likeliest for", "most evidence", "log evidence", "over bias", "over RW")
    rows = []
    for _, row in data["comparison"].iterrows():
        counts = [whole(row[name]) for name in ("likeliest_for", "most_evidence_for")]
        evidence = f"{fixed(row['log_evidence'], 1)} ± {fixed(row['log_evidence_error'], 1)}"
        over = [_with_error(row, name) for name in ("over_bias", "over_rescorla_wagner")]
        start = [data.words.label(row["model"]), whole(row["n_subjects"]), share(row["frequency"])]
        rows.append([*start, *counts, evidence, *over, fixed(row["hit_rate"], 3), whole(row["loso_k_high"])])
    yield Table([*texts("model"), *numbers(*heads, "hit rate", "Pareto k > .7")], rows)
    notes = (SUMS, mixture_note(data), with_other_priors(data))
    yield Text(" ".join(text for text in notes if text), "note")


def _with_error(row: pd.Series, name: str) -> str:
    value = signed(row[name], 1)
    return value if value == MISSING or not row[f"{name}_error"] else f"{value} ± {fixed(row[f'{name}_error'], 1)}"


def _row(data: CohortData, name: str, model: str) -> pd.Series | None:
    """Return what a table says of a model and everyone; nothing where it has no such row."""
    if not data.has(name):
        return None
    table = data[name]
    rows = table[(table["model"] == model) & (table.get("group", EVERYONE) == EVERYONE)]
    return rows.iloc[0] if len(rows) else None


def _lacking(data: CohortData) -> str:
    if not data.has("model_probabilities"):
        return "The models were not compared: run holmes-fit compare RUN."
    if len(data.model_names) == 1:
        return f"Only {data.words.label(data.lead_model)} was fitted, and there is nothing to weigh it against."
    return ""


COMPARISON = Page("comparison", TITLE, section, figures, _lacking)
