"""The figures of a study, as PNG and SVG in its folder."""

from collections.abc import Callable, Iterator
from functools import partial

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from holmes_fit.reporting.figures import recovery as drawing
from holmes_fit.reporting.names import Words
from holmes_fit.reporting.style import use_style
from holmes_fit.runs.folder import Run
from holmes_fit.studies.recovery.estimates import NO_TEST
from holmes_fit.studies.recovery.group_study import QUANTITIES
from holmes_fit.studies.recovery.results import Recovery

PANEL = 1.7  # inches
CONFUSED = {"share": "share chosen", "inversion": "P(truth | chosen)"}
METADATA = {"png": {"Software": None}, "svg": {"Date": None}}  # by ending; without any, a figure has the same bytes


def save_figure(run: Run, name: str, figure: Figure) -> None:
    """Write a figure of a study as PNG and SVG into its folder ``figures``, always with the same bytes."""
    with use_style(), rc_context({"svg.hashsalt": "holmes_fit"}):
        for ending, metadata in METADATA.items():
            with run.writing(f"figures/{name}.{ending}") as path:
                figure.savefig(path, format=ending, metadata=metadata)


def draw_figures(study: Recovery) -> None:
    """Draw all figures of a study."""
    with use_style():
        for name, draw, rows in _figures(study):
            figure = Figure(figsize=(6.9, rows * PANEL + 0.4))
            draw(figure)
            save_figure(study.run, name, figure)


def _figures(study: Recovery) -> Iterator[tuple[str, Callable[[Figure], None], float]]:
    people, recovery, ranks = study.people, study.parameters, study.sbc
    models = [model for model in study.models if model in set(people["model"])]
    summary = study.sbc_summary
    untested = set(summary.loc[summary["verdict"] == NO_TEST, "model"])  # their ranks need not be uniform
    for model in models:
        own = people[people["model"] == model]
        rows = 2 if own["pooled"].notna().any() else 1
        yield f"estimates_{model}", partial(_estimates, people=own, words=study.words), rows
        for kind, of_kind in _kinds_of_ranks(ranks[ranks["model"] == model], tested=model not in untested):
            yield f"sbc_{model}{kind}", partial(_ranks, ranks=of_kind, words=study.words), 2
    yield "recovery", partial(_measures, recovery=recovery, models=models, words=study.words), 1.6 * len(models)
    if len(study.models) > 1:
        confusion = study.confusion
        criteria = list(dict.fromkeys(confusion["criterion"]))
        height = len(criteria) * (0.22 * len(study.models) + 0.4) + 0.7
        yield "confusion", partial(_confusion, confusion=confusion, criteria=criteria, words=study.words), height
        power = study.power
        if len(power):
            yield "power", partial(_power, power=power, words=study.words), 1.7


def _kinds_of_ranks(ranks: pd.DataFrame, tested: bool) -> Iterator[tuple[str, pd.DataFrame]]:
    """Give ranks of people's parameters if they are tested, and of group means and spreads where there are any."""
    of_groups = ranks["level"] == "group"
    if tested:
        yield "", ranks[~of_groups]
    for quantity in QUANTITIES:
        chosen = ranks[of_groups & ranks["parameter"].str.startswith(f"{quantity} of ")]
        if len(chosen):
            yield f"_group_{quantity}", chosen


def _estimates(figure: Figure, people: pd.DataFrame, words: Words) -> None:
    parameters = list(dict.fromkeys(people["parameter"]))
    estimators = ["mean", "pooled"] if people["pooled"].notna().any() else ["mean"]
    axes = figure.subplots(len(estimators), len(parameters), squeeze=False)
    color = words.color(str(people["model"].iloc[0]))
    for row, estimator in enumerate(estimators):
        axes[row, 0].set_ylabel("posterior mean" if estimator == "mean" else "pooled estimate")
        for column, parameter in enumerate(parameters):
            own = people[(people["parameter"] == parameter) & people[estimator].notna()]
            ax = drawing.draw_recovery(axes[row, column], own, estimator, color)
            ax.set_title(words.parameter(parameter), parse_math=False)
            ax.set_xlabel("truth")
    figure.supxlabel("Lines: 95% intervals. Open circles: the interval misses the truth.", fontsize=7)


def _ranks(figure: Figure, ranks: pd.DataFrame, words: Words) -> None:
    parameters = list(dict.fromkeys(ranks["parameter"]))
    axes = figure.subplots(2, len(parameters), squeeze=False)
    color = words.color(str(ranks["model"].iloc[0]))
    axes[0, 0].set_ylabel("groups" if ranks["level"].iloc[0] == "group" else "people")
    axes[1, 0].set_ylabel("ECDF − uniform")
    for column, parameter in enumerate(parameters):
        own = ranks[ranks["parameter"] == parameter]
        drawing.draw_ranks(axes[0, column], own, color).set_title(words.parameter(parameter), parse_math=False)
        drawing.draw_rank_ecdf(axes[1, column], own, color)


def _measures(figure: Figure, recovery: pd.DataFrame, models: list[str], words: Words) -> None:
    axes = figure.subplots(len(models), 3, squeeze=False)
    for row, model in enumerate(models):
        ax = drawing.draw_measure(axes[row, 0], recovery, "correlation", model, words)
        ax.set_title("correlation with the truth")
        ax.set_ylabel(words.label(model), parse_math=False)
        ax.set_ylim(min(0.0, ax.get_ylim()[0]), 1.02)
        ax = drawing.draw_measure(axes[row, 1], recovery, "variance_removed", model, words)
        ax.set_title("prior variance removed")
        ax.set_ylim(min(0.0, ax.get_ylim()[0]), 1.02)
        drawing.draw_coverage(axes[row, 2], recovery, model, words).set_title("coverage of 95% intervals")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=4)


def _confusion(figure: Figure, confusion: pd.DataFrame, criteria: list[str], words: Words) -> None:
    models = list(dict.fromkeys(confusion["truth"]))
    axes = figure.subplots(len(criteria), 2, squeeze=False, sharex=True, sharey=True)
    for row, criterion in enumerate(criteria):
        rows = confusion[confusion["criterion"] == criterion]
        for ax, (column, title) in zip(axes[row], CONFUSED.items(), strict=True):
            drawing.draw_confusion(ax, rows, models, words, column).set_title(f"{criterion}: {title}")
    for ax in axes.flat:
        ax.label_outer()


def _power(figure: Figure, power: pd.DataFrame, words: Words) -> None:
    pairs = list(dict.fromkeys(zip(power["model"], power["against"], strict=True)))
    model, against = next((pair for pair in pairs if pair == ("holmes", "flat")), pairs[0])
    rules = list(dict.fromkeys(power["rule"]))
    axes = figure.subplots(1, len(rules), squeeze=False)[0]
    own = power[(power["model"] == model) & (power["against"] == against)]
    for ax, rule in zip(axes, rules, strict=True):
        drawing.draw_power(ax, own[own["rule"] == rule], "frequency", "{:.0%}".format, words.color(model)).set_title(
            rule
        )
    axes[0].set_ylabel(
        f"power to find {words.label(model)}\nmore frequent than {words.label(against)}", parse_math=False
    )
    figure.supxlabel(f"Lines: true shares of {words.label(model)}. Bars: 95% intervals.", fontsize=7, parse_math=False)
