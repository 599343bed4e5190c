"""The page that answers the question: flat or HOLMES, person by person and for the group."""

from collections.abc import Hashable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from holmes_fit._support.numbers import MISSING, listed, probability, share
from holmes_fit.reporting.blocks import Block, Panel, Row, Table, Text, numbers, texts
from holmes_fit.reporting.figures import comparison as drawing
from holmes_fit.reporting.figures.axes import people_axis_height
from holmes_fit.reporting.page import Page
from holmes_fit.reporting.run_data import EVERYONE, CohortData
from holmes_fit.reporting.sections import conditions
from holmes_fit.reporting.sections.rivals import families, needs
from holmes_fit.reporting.text import brief, fixed, people, sentence, signed, whole
from holmes_fit.reporting.warnings import warned

SURE, FAVOURED = 0.95, 0.75  # protected exceedance probability
HALF = 0.5
MOST_SMALL_ROWS = 6  # shares of people in a small figure
OPPOSITE = {"holmes": "flat", "flat": "holmes"}
MOST_IN_GROUPS = 4  # models whose shares are shown group by group
N_PRIOR_WIDTHS = 3  # half as wide, as in the fit, twice as wide
SUMS = (
    "Sums over people ± Monte Carlo errors. Share: frequency in the mixture; likeliest for: people, by posterior "
    "probability in the mixture; most evidence: by their own evidence alone; RW: Rescorla–Wagner; Pareto k: people "
    "for whom leaving out cannot be trusted."
)


def mixed_models(data: CohortData) -> list[str]:
    """Return the models of the mixture, the most frequent one last, so that it stands at the top of bars."""
    inside = list(dict.fromkeys(data["model_probabilities"]["model"]))
    return sorted(inside, key=lambda name: (name == data.lead_model, inside.index(name)))


def _in_order(data: CohortData) -> list[str]:
    """Return people by their probability of the leading model, the highest first."""
    rows = data["model_probabilities"][data["model_probabilities"]["model"] == mixed_models(data)[-1]]
    return [str(name) for name in rows.sort_values("probability", ascending=False, kind="stable")["subject"]]


# --- The page


def _blocks(data: CohortData) -> Iterator[Block]:
    if data.has("comparison_by_condition"):
        yield from conditions.blocks(data)
        return
    models = mixed_models(data)
    yield Text(finding(data), "finding")
    yield Text(words(data))
    yield warned(data, "mixture", "noise", "failures")
    if len(models) > 1:
        names = people_axis_height(_in_order(data), drawing.PAGE)
        yield Row([probabilities_panel(data)], 58 + names, 90 + names)
        for panel in _evidence_panels(data):
            yield Row([panel], 56 + names, 90 + names)
    else:
        yield Text(f"Only {data.words.label(models[0])} was in the mixture, so there is nothing to weigh it against.")
    if beside := [*_panels_of_models(data)]:
        n_rows = max(_frequency_rows(data), len(data["comparison"]) + 3)
        yield Row(beside, max(100, 34 + 11 * n_rows), max(130, 50 + 13 * n_rows))
    yield from _between_groups(data)
    if data.has("comparison"):
        yield from _table(data)
    yield from families(data)
    yield from needs(data, models[-1])


def probabilities_panel(data: CohortData, name: str = "comparison_people", small: bool = False) -> Panel:
    """Return the panel with each person's probabilities; a small one does without groups."""
    table, models, groups = data["model_probabilities"], mixed_models(data), () if small else data.groups
    draw = partial(drawing.draw_probabilities, table=table, models=models, order=_in_order(data), words=data.words)
    return Panel(
        name,
        partial(draw, group_of=data.group_of, groups=groups, named=not small),
        "Which model describes whom" if small else "Which model describes whom: each person's probabilities",
        "Each bar is a person; the white line is at even odds." if small else "",
        table=table,
    )


def _evidence_panels(data: CohortData) -> Iterator[Panel]:
    """Set the leading model beside another, flat beside HOLMES if it is one of them; these two in any case."""
    table, (*others, lead) = data["model_probabilities"], mixed_models(data)
    sums = table.groupby("model")["log_evidence"].sum().drop(lead)
    rival = OPPOSITE.get(lead)
    rival = rival if rival in others else str(sums.idxmax())
    yield _evidence_panel(data, "comparison_evidence", lead, rival)
    if lead not in OPPOSITE and set(OPPOSITE) <= set(others):
        yield _evidence_panel(data, "comparison_flat_or_holmes", "holmes", "flat")


def _evidence_panel(data: CohortData, name: str, above: str, below: str) -> Panel:
    table, words = data["model_probabilities"], data.words
    draw = partial(drawing.draw_evidence_differences, table=table, above=above, below=below, words=words)
    return Panel(
        name,
        partial(draw, order=_in_order(data)),
        f"Evidence of each person's choices for {words.label(above)} over {words.label(below)}, in nats",
        "The same people in the same order as above. Lines: Monte Carlo errors. Grey band: odds below 20 to 1.",
        table=table,
    )


def _models_in_groups(data: CohortData) -> list[str]:
    """Return the models whose shares are shown group by group: baselines are in the way, unless one is ahead.

    Where these are many, too, it is the leading one, flat and HOLMES.
    """
    models = mixed_models(data)[::-1]
    shown = [name for name in models if not data.words.is_baseline(name) or name == data.lead_model]
    few = [name for name in shown if name in OPPOSITE or name == data.lead_model]
    return shown if len(shown) <= MOST_IN_GROUPS else few


def _frequency_rows(data: CohortData) -> int:
    return len(mixed_models(data)) + len(data.groups) * len(_models_in_groups(data))


def frequencies_panel(data: CohortData, name: str = "comparison_frequencies", small: bool = False) -> Panel:
    """Return the panel with the shares of people; a small one does without groups where models are many."""
    groups = () if small and _frequency_rows(data) > MOST_SMALL_ROWS else data.groups
    table, models, in_groups = data["frequencies"], mixed_models(data)[::-1], _models_in_groups(data)
    draw = partial(drawing.draw_frequencies, table=table, models=models, words=data.words)
    return Panel(
        name,
        partial(draw, groups=groups, in_groups=in_groups),
        "How many people each model describes",
        "Mean, 90% (thick) and 95% (thin) intervals. Dashed: all models equally frequent.",
        table=table,
        share=1.35,
    )


def _panels_of_models(data: CohortData) -> Iterator[Panel]:
    """Give what the mixture and the comparison allow: shares, exceedance, leaving people out."""
    if len(mixed_models(data)) > 1 and data.has("frequencies"):
        yield frequencies_panel(data)
    if data.scope or not data.has("comparison"):
        return
    table, error = data["comparison"], "loso_difference_error"
    if table["protected_exceedance"].notna().sum() > 1:
        yield Panel(
            "comparison_exceedance",
            partial(drawing.draw_exceedance, comparison=table, words=data.words, draws=mixture_draws(data)),
            "Which model is the most frequent",
            "Bars: protected exceedance. Diamonds: unprotected. Dashed: .95.",
            share=0.9,
            table=table[["model", "exceedance", "protected_exceedance"]],
        )
    if table["loso_difference"].notna().sum() > 1:
        draw = partial(drawing.draw_differences_of_models, comparison=table, column="loso_difference", error=error)
        yield Panel(
            "comparison_leave_one_out",
            partial(draw, words=data.words),
            "Predicting a person who was left out",
            "Log predictive density, against the best; lines: standard errors.",
            share=1.15,
            table=table[["model", "loso", "loso_error", "loso_difference", error, "loso_k_high"]],
        )


def _between_groups(data: CohortData) -> Iterator[Block]:
    """Say how the leading model's share differs between two groups; between several, draw it."""
    table, draws, lead = data["frequency_differences"], mixture_draws(data), mixed_models(data)[-1]
    rows, label = table[table["model"] == lead] if len(table) and data.groups else table[:0], data.words.label(lead)
    if len(rows) == 1:
        row = rows.iloc[0]
        shown, low, high = (signed(100 * row[name], 0) for name in ("mean", "lower", "upper"))
        yield Text(
            f"Share of {label}, {brief(row['above'])} minus {brief(row['below'])}: {shown} points (95% interval {low} "
            f"to {high}; above 0 with P = {probability(row['probability_above_0'], draws)})."
        )
    elif len(rows):
        draw = partial(drawing.draw_group_differences, rows=rows, color=data.words.color(lead), draws=draws)
        title = f"Does the share of {label} differ between groups?"
        caption = "Means and 95% intervals of the difference between two groups."
        yield Row([Panel("comparison_groups", draw, title, caption, table=table)], 34 + 26 * len(rows))


# --- What was found


def finding(data: CohortData) -> str:
    """Return what was found, in one sentence."""
    *others, lead = models = mixed_models(data)
    row, label = _row(data, "frequencies", lead), data.words.label(lead)
    who = f"people in the group {brief(data.scope)}" if data.scope else "people"
    among = f"among {listed([data.words.label(name) for name in models])}"
    if not others:
        return f"Only {label} was weighed: there is no other model to compare it with."
    if row is None:  # the groups of this report are not those that have frequencies of their own
        best, _, n = _best_for(data, lead)
        return f"{label} is the likeliest for {best} of {n} {who}, by posterior probability {among}."
    certainty = _certainty(data, lead, row)
    start = f"{label} is favoured, though not beyond doubt: it" if certainty < SURE else label
    if certainty < FAVOURED:
        both = f"{data.words.label(models[0])} and {label} are not told apart"
        start = f"{both if len(models) == 2 else 'no model stands out'}: {label}"
    interval = f"95% interval {share(row['lower'])} to {share(row['upper'])}"
    return sentence(f"{start} describes an estimated {share(row['mean'])} of {who} ({interval}) {among}")


def _certainty(data: CohortData, lead: str, row: pd.Series) -> float:
    """Return how probable it is that the leading model is the most frequent one; nothing where that is not known.

    Groups have no exceedance probabilities of their own. A model whose share is above one half is the most frequent one
    for sure, so that the interval of the share, and else its mean, say how probable that is at least.
    """
    if data.scope:
        return SURE if row["lower90"] > HALF else float((row["mean"] - HALF) / (1 - HALF))
    compared = _row(data, "comparison", lead)
    return np.nan if compared is None else float(compared["protected_exceedance"])


def words(data: CohortData) -> str:
    """Return how sure that is: for the group, and person by person."""
    *others, lead = mixed_models(data)
    if not others:
        return ""
    parts = []
    row = None if data.scope else _row(data, "comparison", lead)
    if row is not None and np.isfinite(row["protected_exceedance"]):
        unprotected, protected = (
            probability(row[name], mixture_draws(data)) for name in ("exceedance", "protected_exceedance")
        )
        parts.append(
            f"It is the most frequent of them with probability {unprotected}, and {protected} once chance is allowed "
            "for (protected exceedance)."
        )
    best, by_evidence, n = _best_for(data, lead)
    sure = int((data["model_probabilities"].groupby("subject")["probability"].max() > SURE).sum())
    parts.append(
        f"By posterior probability in the mixture, which knows the group, it is the likeliest model of {best} of "
        f"{people(n)}; for {sure} one model or another is above {SURE}. By their own evidence alone, it is that of "
        f"{by_evidence}."
    )
    return " ".join([*parts, *([] if row is None else _beyond_others(data, row, lead)), *_by_families(data)])


def _beyond_others(data: CohortData, row: pd.Series, lead: str) -> Iterator[str]:
    """Say whether the leading model is worth its parameters: its evidence against the best other, and the simplest."""
    others = [name for name in ("rescorla_wagner", "bias") if name != lead]
    known = {name: float(row[f"over_{name}"]) for name in others if np.isfinite(row[f"over_{name}"])}
    errors = {name: float(row[f"over_{name}_error"]) for name in known}
    mixed = data["comparison"][data["comparison"]["in_mixture"] & (data["comparison"]["model"] != lead)]
    for rival in mixed.nlargest(1, "log_evidence").to_dict("records"):
        if (name := str(rival["model"])) not in others:
            known = {name: float(row["log_evidence"] - rival["log_evidence"]), **known}
            errors[name] = float(np.hypot(row["log_evidence_error"], rival["log_evidence_error"]))
    if known:
        told = [
            f"{signed(value)} ± {fixed(errors[name], 1)} nats over {data.words.label(name)}"
            for name, value in known.items()
        ]
        ahead = [data.words.label(name) for name, value in known.items() if value < drawing.STRONG]
        doubt = f", so that {listed(ahead)} explains the choices about as well, or better" if ahead else ""
        against = "the baselines" if set(known) <= set(others) else "the best of the others and the baselines"
        yield f"Against {against}, its log evidence summed over people is {listed(told)}{doubt}."


def _by_families(data: CohortData) -> Iterator[str]:
    """Say how frequent families of models are, and of which nothing is known."""
    if data.scope or not data.has("families"):
        return
    table = data["families"][data["families"]["group"] == EVERYONE]
    own, out = table[table["n_models"] > 0].sort_values("mean", ascending=False), table[table["n_models"] == 0]
    if 1 < len(own) < own["n_models"].sum():
        first = own.iloc[0]
        shares = [
            f"{row['family']} {share(row['mean'])} ({share(row['lower'])} to {share(row['upper'])})"
            for row in own.to_dict("records")
        ]
        protected = probability(first["protected_exceedance"], mixture_draws(data))
        yield (
            f"By families of models, all equally likely beforehand: {', '.join(shares)}; {first['family']} models are "
            f"the most frequent with a protected probability of {protected}."
        )
    if len(out):
        yield f"No {' or '.join(out['family'])} model was weighed, so that nothing is said of those."


def _best_for(data: CohortData, model: str) -> tuple[int, int, int]:
    """Return for how many people a model is the likeliest in the mixture, for how many by evidence, and of how many."""
    table = data["model_probabilities"]
    by_person = table.groupby("subject")
    likeliest, best = (
        int((table.loc[by_person[name].idxmax(), "model"] == model).sum()) for name in ("probability", "log_evidence")
    )
    return likeliest, best, by_person.ngroups


def _row(data: CohortData, name: str, model: str) -> pd.Series | None:
    """Return what a table says of a model and everyone; nothing where it has no such row."""
    rows = data.of_model(name, model)
    rows = rows[rows["group"] == EVERYONE] if "group" in rows else rows
    return rows.iloc[0] if len(rows) else None


# --- The table, and how far to trust it


def _table(data: CohortData) -> Iterator[Block]:
    if data.scope:
        yield Text("The whole cohort, all groups", "heading")
    heads = ("people", "share", "likeliest for", "most evidence", "log evidence", "over bias", "over RW")
    rows = []
    for row in data["comparison"].to_dict("records"):
        counts = [whole(row[name]) for name in ("likeliest_for", "most_evidence_for")]
        evidence = f"{fixed(row['log_evidence'], 1)} ± {fixed(row['log_evidence_error'], 1)}"
        over = [_with_error(row, name) for name in ("over_bias", "over_rescorla_wagner")]
        start = [data.words.label(row["model"]), whole(row["n_subjects"]), share(row["frequency"])]
        rows.append([*start, *counts, evidence, *over, fixed(row["hit_rate"], 3), whole(row["loso_k_high"])])
    yield Table([*texts("model"), *numbers(*heads, "hit rate", "Pareto k > .7")], rows)
    yield Text(" ".join([SUMS, *_mixture_note(data), *with_other_priors(data)]), "note")


def _with_error(row: Mapping[Hashable, Any], name: str) -> str:
    value = signed(row[name], 1)
    return value if value == MISSING or not row[f"{name}_error"] else f"{value} ± {fixed(row[f'{name}_error'], 1)}"


def _mixture(data: CohortData) -> dict[str, float]:
    """Return what there is to know of the mixture, by name."""
    if not data.has("mixture"):
        return {}
    table = data["mixture"]
    return dict(zip(table["quantity"], pd.to_numeric(table["value"], errors="coerce"), strict=True))


def mixture_draws(data: CohortData) -> float:
    """Return how many effective draws the mixture has; without a limit where that is not known."""
    return _mixture(data).get("ess_bulk", np.inf)


def _mixture_note(data: CohortData) -> Iterator[str]:
    """Say whether the mixture can be relied on, and how little chance explains it."""
    if values := _mixture(data):
        checks = {"divergences": 0, "r_hat": 3, "ess_bulk": 0, "ess_tail": 0}
        wrong, r_hat, bulk, tail = (fixed(values.get(name, np.nan), places) for name, places in checks.items())
        yield (
            f"Mixture: {wrong} divergences, R-hat {r_hat}, effective draws {bulk} (bulk) and {tail} (tail); Bayesian "
            f"omnibus risk {probability(values.get('omnibus_risk', np.nan), mixture_draws(data))}."
        )


def with_other_priors(data: CohortData) -> Iterator[str]:
    """Say which model would have been the most frequent with narrower and wider priors, by people's own evidences."""
    if not data.has("prior_sensitivity"):
        return
    table = data["prior_sensitivity"]
    best = table.loc[table.groupby("prior_width")["frequency"].idxmax()].sort_values("prior_width")
    told = [f"{data.words.label(row['model'])} ({share(row['frequency'])})" for row in best.to_dict("records")]
    if len(told) == N_PRIOR_WIDTHS:
        narrow, own, wide = told
        change = "" if best["model"].nunique() == 1 else ": the answer depends on the priors"
        yield (
            f"With priors half and twice as wide, the most frequent by people's own evidences is {narrow} and {wide}, "
            f"with those of the fit {own}{change}."
        )


def _lacking(data: CohortData) -> str:
    if not data.has("model_probabilities") and not data.has("comparison_by_condition"):
        return "The models were not compared: run holmes-fit compare RUN."
    if len(data.model_names) == 1:
        return f"Only {data.words.label(data.lead_model)} was fitted, and there is nothing to weigh it against."
    return ""


COMPARISON = Page("comparison", "Flat or HOLMES", _blocks, _lacking)
