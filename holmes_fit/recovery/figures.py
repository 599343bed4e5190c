"""The figures of a study, as PNG and SVG in its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from holmes_fit.recovery.group_study import QUANTITIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from holmes_fit.recovery.study import Recovery

FOLDER = "figures"
ENDINGS = ("png", "svg")
PANEL = 1.7  # inches


def draw_figures(study: Recovery) -> None:
    """Draw all figures of a study into its folder ``figures``."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from holmes_fit.reporting.style import use_style

    with use_style(), rc_context({"svg.hashsalt": "holmes_fit"}):  # the same figure has the same bytes
        for name, draw, rows in _figures(study):
            figure = Figure(figsize=(6.9, rows * PANEL + 0.4))
            draw(figure)
            for ending in ENDINGS:
                with study.run.writing(f"{FOLDER}/{name}.{ending}") as path:
                    metadata = {"Date": None} if ending == "svg" else {"Software": None}
                    figure.savefig(path, format=ending, metadata=metadata)


Drawn = tuple[str, Callable[["Figure"], None], float]


def _figures(study: Recovery) -> Iterator[Drawn]:
    people, recovery, ranks = study.people, study.parameters, study.sbc
    models = [model for model in study.models if model in set(people["model"])]
    for number, model in enumerate(models):
        own = people[people["model"] == model]
        rows = 2 if own["pooled"].notna().any() else 1
        yield f"estimates_{model}", partial(_estimates, people=own, number=number), rows
        for kind, of_kind in _kinds_of_ranks(ranks[ranks["model"] == model]):
            yield f"sbc_{model}{kind}", partial(_ranks, ranks=of_kind, number=number), 2
    yield "recovery", partial(_measures, recovery=recovery, models=models), 1.6 * len(models)
    if len(study.models) > 1:
        confusion = study.confusion
        criteria = list(dict.fromkeys(confusion["criterion"]))
        height = len(criteria) * (0.22 * len(study.models) + 0.4) + 0.7
        yield "confusion", partial(_confusion, confusion=confusion, criteria=criteria), height
        power = study.power
        if len(power):
            yield "power", partial(_power, power=power), 1.7


def _kinds_of_ranks(ranks: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Give ranks of people's parameters, and those of group means and of spreads where there are any."""
    of_groups = ranks["level"] == "group"
    yield "", ranks[~of_groups]
    for quantity in QUANTITIES:
        chosen = ranks[of_groups & ranks["parameter"].str.startswith(f"{quantity} of ")]
        if len(chosen):
            yield f"_group_{quantity}", chosen


def _estimates(figure: Figure, people: pd.DataFrame, number: int) -> None:
    from holmes_fit.reporting.recovery_figures import color_of, truth_and_estimate

    parameters = list(dict.fromkeys(people["parameter"]))
    kinds = [False, True] if people["pooled"].notna().any() else [False]
    axes = figure.subplots(len(kinds), len(parameters), squeeze=False)
    color = color_of(str(people["model"].iloc[0]), number)
    for row, is_pooled in enumerate(kinds):
        for column, parameter in enumerate(parameters):
            own = people[people["parameter"] == parameter]
            if is_pooled:
                own = own[own["pooled"].notna()]
            ax = truth_and_estimate(axes[row, column], own, color, is_pooled)
            ax.set_title(f"{parameter}, pooled" if is_pooled else parameter)
            ax.set_ylabel(ax.get_ylabel() if column == 0 else "")
    figure.supxlabel("Lines: 95% intervals. Open circles: the interval misses the truth.", fontsize=7)


def _ranks(figure: Figure, ranks: pd.DataFrame, number: int) -> None:
    from holmes_fit.reporting.recovery_figures import color_of, rank_ecdf, rank_histogram

    parameters = list(dict.fromkeys(ranks["parameter"]))
    axes = figure.subplots(2, len(parameters), squeeze=False)
    color = color_of(str(ranks["model"].iloc[0]), number)
    for column, parameter in enumerate(parameters):
        own = ranks[ranks["parameter"] == parameter]
        ax = rank_histogram(axes[0, column], own, color)
        ax.set_title(parameter)
        ax.set_ylabel("groups" if own["level"].iloc[0] == "group" else "people")
        rank_ecdf(axes[1, column], own, color)
    for ax in axes[:, 1:].flat:
        ax.set_ylabel("")


def _measures(figure: Figure, recovery: pd.DataFrame, models: list[str]) -> None:
    from holmes_fit.reporting.recovery_figures import coverage_points, measure_points

    axes = figure.subplots(len(models), 3, squeeze=False)
    for row, model in enumerate(models):
        ax = measure_points(axes[row, 0], recovery, "correlation", model, row)
        ax.set_title("correlation with the truth")
        ax.set_ylabel(model)
        ax.set_ylim(min(0.0, ax.get_ylim()[0]), 1.02)
        ax = measure_points(axes[row, 1], recovery, "variance_removed", model, row)
        ax.set_title("prior variance removed")
        ax.set_ylim(min(0.0, ax.get_ylim()[0]), 1.02)
        coverage_points(axes[row, 2], recovery, model, row).set_title("coverage of 95% intervals")
        for ax in axes[row]:
            ax.tick_params(axis="x", labelrotation=20)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=4)


def _confusion(figure: Figure, confusion: pd.DataFrame, criteria: list[str]) -> None:
    from holmes_fit.reporting.recovery_figures import choice_matrix

    axes = figure.subplots(len(criteria), 2, squeeze=False, sharex=True, sharey=True)
    for row, criterion in enumerate(criteria):
        choice_matrix(axes[row, 0], confusion, criterion).set_title(f"{criterion}: share chosen")
        choice_matrix(axes[row, 1], confusion, criterion, inverted=True).set_title(f"{criterion}: P(truth | chosen)")
    for ax in axes.flat:
        ax.label_outer()


def _power(figure: Figure, power: pd.DataFrame) -> None:
    from holmes_fit.reporting.recovery_figures import power_curves

    pairs = list(dict.fromkeys(zip(power["model"], power["against"], strict=True)))
    model, against = next((pair for pair in pairs if pair == ("holmes", "flat")), pairs[0])
    rules = list(dict.fromkeys(power["rule"]))
    axes = figure.subplots(1, len(rules), squeeze=False)[0]
    for ax, rule in zip(axes, rules, strict=True):
        power_curves(ax, power, model, against, rule).set_title(rule)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=4)
