"""What a plan says, in plain words and a figure: how many trials and people to take, and how sure that is."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from holmes_fit._support.numbers import hundredths, listed
from holmes_fit.models.responses.registry import names_of_responding
from holmes_fit.reporting.figures.recovery import draw_interval_shares, draw_power
from holmes_fit.reporting.names import Words
from holmes_fit.reporting.style import use_style
from holmes_fit.studies.planning.measures import ALL, MOST

ENOUGH_POWER = 0.8
# Of the prior's interval. If a posterior keeps so much of it, its mean has a correlation below .6 with the truth, which
# a recovery study calls weakly identified: what is left of the variance is .8 squared, and 1 - .8² = .6².
UNCERTAIN = 0.8
NO_MORE = 0.03  # two standard errors of a power near .5, for the number of groups that are drawn
MOST_PEOPLE = "three in four people follow the same model"
ROW, TOP = 2.05, 0.35  # inches
WIDTH = 7.4


def recommendation(table: pd.DataFrame, power: pd.DataFrame) -> str:
    """Return what to do, in one sentence."""
    parts = [text for text in (_about_models(power), _about_people(table)) if text]
    sentence = "; ".join(parts)
    return f"{sentence[:1].upper()}{sentence[1:]}."


def summary(table: pd.DataFrame, power: pd.DataFrame, label: str = "") -> str:
    """Return the recommendation, what it rests on, and how to read it."""
    return "\n".join(_lines(table, power, label))


def weakest(power: pd.DataFrame, frequency: float) -> pd.DataFrame:
    """Return the power to tell the models whichever of them is the true one: the lowest over all pairs.

    There is a row for each number of trials and group size: ``trials``, ``group_size``, ``power``, ``lower``,
    ``upper``.
    """
    own = power[power["frequency"] == frequency]
    lowest = own.loc[own.groupby(["trials", "group_size"])["power"].idxmin()]
    return lowest[["trials", "group_size", "power", "lower", "upper"]].reset_index(drop=True)


def _about_models(power: pd.DataFrame) -> str:
    if power.empty:
        return ""
    names = listed(list(dict.fromkeys(power["model"])))
    found = weakest(power, MOST)
    enough = found[found["power"] >= ENOUGH_POWER]
    if enough.empty:
        return _no_combination(found, names)
    best = _cheapest(enough)
    text = (
        f"to tell {names} apart with power {ENOUGH_POWER:g} where {MOST_PEOPLE}, take at least {best['trials']:.0f} "
        f"trials and {best['group_size']:.0f} people (power {_with_interval(best)}"
    )
    pure = weakest(power, ALL)
    pure = pure[(pure["trials"] == best["trials"]) & (pure["power"] >= ENOUGH_POWER)]
    smallest = pure["group_size"].min()
    if len(pure) and smallest < best["group_size"]:
        text += f"; {smallest} people if everyone does"
    return f"{text})"


def _no_combination(found: pd.DataFrame, names: str) -> str:
    best = found.sort_values("power", kind="stable").iloc[-1]
    by_size = found[found["trials"] == best["trials"]].sort_values("group_size")["power"]
    helps = len(by_size) == 1 or by_size.iloc[-1] > by_size.iloc[0] + NO_MORE
    longer = f"tasks of more than {found['trials'].max()} trials, or another design"
    advice = (
        f"look at more than {found['group_size'].max()} people, {longer}"
        if helps
        else f"more people alone do not help, so look at {longer}"
    )
    return (
        f"none of these combinations tells {names} apart with power {ENOUGH_POWER:g} where {MOST_PEOPLE} (the best, "
        f"{best['trials']:.0f} trials and {best['group_size']:.0f} people, has {_with_interval(best)}): {advice}"
    )


def _cheapest(combinations: pd.DataFrame) -> pd.Series:
    """Return the combination with the fewest trials in all, and of those that with the shortest task."""
    in_all = combinations["trials"] * combinations["group_size"]
    order = combinations.assign(in_all=in_all).sort_values(["in_all", "trials"], kind="stable")
    return order.iloc[0]


def _about_people(table: pd.DataFrame) -> str:
    """Say which learning parameter of one person stays uncertain, however long the task."""
    of_responding = names_of_responding()
    longest = table["trials"].max()
    rows = table[(table["trials"] == longest) & ~table["parameter"].isin(of_responding)]
    rows = rows.drop_duplicates(["model", "parameter"]).sort_values("interval_share", ascending=False, kind="stable")
    if rows.empty:
        return ""
    uncertain = rows[rows["interval_share"] >= UNCERTAIN]
    if uncertain.empty:
        kept = _kept(rows.head(1))
        return f"after {longest} trials, one person's 95% interval keeps {kept} of the prior's width, at most"
    stays = "stays" if uncertain["parameter"].nunique() == 1 else "stay"
    names = listed(sorted(set(uncertain["parameter"])))
    return (
        f"one person's {names} {stays} uncertain even after {longest} trials (the 95% interval keeps "
        f"{_kept(uncertain)} of the prior's width), so report group means"
    )


def _kept(rows: pd.DataFrame) -> str:
    return ", ".join(
        f"{row.interval_share:.0%} ({row.interval_share_lower:.0%} to {row.interval_share_upper:.0%}; {row.parameter} "
        f"in {row.model})"
        for row in rows.itertuples()
    )


def _lines(table: pd.DataFrame, power: pd.DataFrame, label: str) -> Iterator[str]:
    yield recommendation(table, power)
    if label:
        yield f"This is {label}"
    yield ""
    yield from _people_lines(table)
    yield ""
    yield from _group_lines(table)
    if len(power):
        yield ""
        yield from _power_lines(power)
    yield ""
    yield from _how_sure(table, power)


def _people_lines(table: pd.DataFrame) -> Iterator[str]:
    yield "One person: share of the prior's 95% interval that is left, and r of posterior mean and truth, by trials"
    once = table.drop_duplicates(["trials", "model", "parameter"])
    cells = {
        f"{model} {parameter}": [
            f"{left:.0%}  r {_two(r)}" for left, r in zip(rows["interval_share"], rows["correlation"], strict=True)
        ]
        for (model, parameter), rows in once.groupby(["model", "parameter"], sort=False)
    }
    yield from _aligned(cells, [str(length) for length in table["trials"].unique()])


def _group_lines(table: pd.DataFrame) -> Iterator[str]:
    longest = table["trials"].max()
    yield (
        f"A group: SD of its mean in units of the prior's SD, by people, at {longest} trials (for others see plan.csv)"
    )
    own = table[table["trials"] == longest]
    cells = {
        f"{model} {parameter}": [_two(ratio) for ratio in rows["group_mean_sd"] / rows["prior_sd"]]
        for (model, parameter), rows in own.groupby(["model", "parameter"], sort=False)
    }
    yield from _aligned(cells, [str(size) for size in table["subjects"].unique()])


def _power_lines(power: pd.DataFrame) -> Iterator[str]:
    yield "Power to find the model that three in four people follow (in brackets: that everyone follows), by people"
    cells = {}
    for (model, other, trials), rows in power.groupby(["model", "against", "trials"], sort=False):
        found = rows.pivot(index="group_size", columns="frequency", values="power").sort_index()
        name = f"{model}, not {other}, {trials} trials"
        cells[name] = [f"{_power(most)} ({_power(all_)})" for most, all_ in zip(found[MOST], found[ALL], strict=True)]
    yield from _aligned(cells, [str(size) for size in sorted(power["group_size"].unique())])


def _aligned(rows: Mapping[str, Sequence[str]], heads: Sequence[str]) -> Iterator[str]:
    names = max(map(len, rows), default=0)
    width = max((len(cell) for cells in (*rows.values(), heads) for cell in cells), default=0)
    for name, cells in {"": heads, **rows}.items():
        yield f"  {name:{names}}  " + "  ".join(f"{cell:>{width}}" for cell in cells)


def _how_sure(table: pd.DataFrame, power: pd.DataFrame) -> Iterator[str]:
    people = int(table["people"].min()) if len(table) else 0
    yield (
        f"Numbers rest on {people} people simulated from each model for each number of trials; plan.csv has the 95% "
        "interval of each, which more people (--people) make narrower."
    )
    found = weakest(power, MOST) if len(power) else pd.DataFrame()
    enough = found[found["power"] >= ENOUGH_POWER] if len(found) else found
    if len(enough) and _cheapest(enough)["lower"] < ENOUGH_POWER:
        yield (
            f"The interval of the power that is recommended reaches below {ENOUGH_POWER:g}: simulate more people, such "
            f"as --people {4 * people}, or take a larger combination."
        )
    yield (
        "People's parameters are drawn from the fitting priors. A model counts as found if its protected exceedance "
        "probability is above .95: that it is the more frequent one, chance being allowed for. It is computed from the "
        "evidences of single people; holmes-fit compare has the mixture of models, which learns from the group, too."
    )


def _two(value: float) -> str:
    return "·" if pd.isna(value) else f"{value:.2f}"


def _with_interval(row: pd.Series) -> str:
    power, lower, upper = (hundredths(row[name]) for name in ("power", "lower", "upper"))
    return f"{power}, 95% interval {lower} to {upper}"


def _power(value: float) -> str:
    return "·" if pd.isna(value) else hundredths(value)


def plan_figure(table: pd.DataFrame, power: pd.DataFrame, words: Words, label: str = "") -> Figure:
    """Draw what is left of the prior's interval by trials, and the power by people and trials: a row for each model.

    The label, of which a reader must be told, is not drawn if it is empty.
    """
    with use_style():
        figure = Figure(figsize=(WIDTH, ROW * len(words.models) + (TOP if label else 0)))
        axes = figure.subplots(len(words.models), 2 if len(power) else 1, squeeze=False)
        for number, model in enumerate(words.models):
            color = words.color(model)
            own = table[table["model"] == model]
            if len(own):
                draw_interval_shares(axes[number, 0], own, color, words)
            axes[number, 0].set_title(f"One person who follows {words.label(model)}", parse_math=False)
            axes[number, 0].set_ylabel("share of the prior's interval")
            if len(power):
                against = hardest(power, model)
                rows = power[(power["model"] == model) & (power["against"] == against) & (power["frequency"] == MOST)]
                draw_power(axes[number, 1], rows, "trials", "{:g} trials".format, color)
                title = f"Three in four follow {words.label(model)}, one {words.label(against)}"
                axes[number, 1].set_title(title, parse_math=False)
                axes[number, 1].set_ylabel("power")
        if label:
            figure.suptitle(f"This is {label.split(':')[0]}; do not report it", x=0.01, ha="left", fontsize=8)
        return figure


def hardest(power: pd.DataFrame, model: str) -> str:
    """Return the model from which another one is the hardest to tell, over all combinations."""
    own = power[(power["model"] == model) & (power["frequency"] == MOST)]
    return str(own.groupby("against", sort=False)["power"].mean().idxmin())
