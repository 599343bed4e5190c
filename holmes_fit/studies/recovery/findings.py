"""What a study says, in plain words: what is identified and what is not, and which models can be told apart."""

from collections.abc import Iterator

import pandas as pd

from holmes_fit._support.numbers import hundredths, probability
from holmes_fit.models.registry import MODELS
from holmes_fit.reporting.identification import FEWEST_FOR_CORRELATION, HARDLY, HELPS, STRENGTHS, WEAK, strength
from holmes_fit.studies.recovery.estimates import FAILS, NO_TEST, TOO_FEW, measure_of
from holmes_fit.studies.recovery.pooled import pooling_notes
from holmes_fit.studies.recovery.power import RULES
from holmes_fit.studies.recovery.results import Recovery
from holmes_fit.studies.statistics import Estimate

CRITERIA = {"evidence": "their own evidence", "pooled": "the mixture of everyone"}
ENOUGH_POWER = 0.8
FEW = 50  # people simulated from a model, below which everything is rough


def in_words(study: Recovery) -> str:
    """Return what came of a study, for people."""
    return "\n".join(_lines(study))


def _lines(study: Recovery) -> Iterator[str]:
    weak = False
    for model in study.models:
        n = _count(study, model)
        rough = " (few, so that all of this is rough)" if n < FEW else ""
        yield f"People simulated from {model}, fitted with {model}: {n} {'person' if n == 1 else 'people'}{rough}."
        for line, is_weak in _parameter_lines(study, model):
            weak |= is_weak
            yield f"  {line}"
    yield (
        "r: correlation of the posterior mean with the truth over people, on the scale of search (95% bootstrap "
        f"interval). {'; '.join(f'from {least:g} on {words}' for least, words in STRENGTHS)}; below, {HARDLY}."
    )
    if any(_count(study, model) < FEWEST_FOR_CORRELATION for model in study.models):
        yield (
            f"With fewer than {FEWEST_FOR_CORRELATION} people r can be anything, and the root of the share of variance "
            "that is removed is taken instead, which r is if posteriors are right."
        )
    if weak:
        yield f"What helps a parameter that is weakly identified: {HELPS}"
    yield ""
    if len(study.models) > 1:
        yield from _model_lines(study)
        yield from _power_lines(study.power)
        yield ""
    yield from _calibration_lines(study)
    yield from pooling_notes(study.run, study.models)


def _count(study: Recovery, model: str) -> int:
    people = study.people
    return int(people.loc[people["model"] == model, "subject"].nunique())


def _parameter_lines(study: Recovery, model: str) -> Iterator[tuple[str, bool]]:
    recovery, n = study.parameters, _count(study, model)
    for parameter in recovery.loc[recovery["model"] == model, "parameter"].unique():
        found = measure_of(recovery, model, parameter, "correlation")
        pooled = measure_of(recovery, model, parameter, "correlation", "pooled")
        removed = measure_of(recovery, model, parameter, "variance_removed")
        coverage, pooled_coverage = (
            measure_of(recovery, model, parameter, "coverage", each) for each in ("mean", "pooled")
        )
        at_bound = measure_of(recovery, model, parameter, "at_bound", "ml")
        alike = "the truth is the same for everyone" if n > 1 else "no r of one person"
        said = alike if pd.isna(found.value) else f"r {found:.2f}"
        judged = strength(found.value, removed.value, n)
        if not pd.isna(pooled.value):
            said += f", pooled {pooled.value:.2f}"
        text = (
            f"{parameter}: {judged} by one person's choices: {said}; they remove {max(0.0, removed.value):.0%} of the "
            f"prior's variance; 95% intervals hold the truth in {coverage:.0%}"
        )
        if not pd.isna(pooled_coverage.value):
            text += f", those of pooling in {pooled_coverage:.0%}"
        if at_bound.value > 0.1:
            text += f"; the maximum likelihood lies at a bound for {at_bound.value:.0%}"
        yield f"{text}.", judged in WEAK


def _model_lines(study: Recovery) -> Iterator[str]:
    confusion, totals = study.confusion, study.model_recovery
    for truth in study.models:
        own = confusion[(confusion["truth"] == truth) & (confusion["chosen"] == truth)]
        parts = []
        for row in own.to_dict("records"):
            share = Estimate(row["share"], row["lower"], row["upper"])
            parts.append(f"{CRITERIA[str(row['criterion'])]} {share:.0%}")
        yield f"Truth {truth}: the right model, person by person, by {', by '.join(parts)}."
        yield from _group_lines(totals[totals["truth"] == truth], truth)


def _group_lines(totals: pd.DataFrame, truth: str) -> Iterator[str]:
    others = totals[(totals["criterion"] == "evidence") & (totals["model"] != truth)]
    if len(others):
        best = others.sort_values("difference").iloc[-1]
        lead = Estimate(*(-float(best[name]) for name in ("difference", "difference_upper", "difference_lower")))
        verdict = "the right model wins" if lead.value > 0 else "a wrong model wins"
        yield (
            f"  Over all {int(best['n'])} people {verdict}: {truth} is {lead.value:+.1f} nats ({lead.lower:+.1f} to "
            f"{lead.upper:+.1f}) from {best['model']}, the best of the others."
        )
    pooled = totals[(totals["criterion"] == "pooled") & (totals["model"] == truth)]
    for _, row in pooled.iterrows():
        yield (
            f"  In the mixture its frequency is {row['frequency']:.2f} ({row['lower']:.2f} to {row['upper']:.2f}); it "
            f"is the most frequent with probability {probability(row['protected_exceedance'])} (protected exceedance)."
        )


def _power_lines(power: pd.DataFrame) -> Iterator[str]:
    rule = next(iter(RULES))
    for (model, against), rows in power[power["rule"] == rule].groupby(["model", "against"], sort=False):
        if not MODELS[str(model)].uses_particles:
            continue
        found = [_size_needed(rows[rows["frequency"] == frequency], frequency) for frequency in (0.7, 0.9)]
        yield (
            f"To find {model} the more frequent, against {against}, from the evidences of single people, with power "
            f"{ENOUGH_POWER:g} ({rule}): {'; '.join(found)}."
        )


def _size_needed(rows: pd.DataFrame, frequency: float) -> str:
    """Say which of the sizes is enough, and how surely; power is that of the size, or of the largest one."""
    enough = rows[rows["power"] >= ENOUGH_POWER]
    at = (enough if len(enough) else rows).sort_values("group_size").iloc[0 if len(enough) else -1]
    size = f"{at['group_size']:.0f}" if len(enough) else f"more than {at['group_size']:.0f}"
    power = f"{hundredths(at['power'])} ({hundredths(at['lower'])} to {hundredths(at['upper'])})"
    return f"{size} people if {frequency:.0%} follow it (power of {at['group_size']:.0f}: {power})"


def _calibration_lines(study: Recovery) -> Iterator[str]:
    summary = study.sbc_summary
    people, groups = (summary[summary["level"] == level] for level in ("person", "group"))
    if (people["verdict"] == NO_TEST).all():
        yield (
            "Truths are not drawn from the fitting prior, so that coverage and ranks say how fits do for such people, "
            "not whether posteriors are calibrated."
        )
    else:
        yield from _verdicts(people, "Calibration", "people")
        untested = list(dict.fromkeys(people.loc[people["verdict"] == NO_TEST, "model"]))
        if untested:
            yield f"Calibration was not tested for {', '.join(untested)}: their truths are not from the fitting prior."
    if len(groups):
        yield from _verdicts(groups, "Calibration of group means and spreads", "groups")
        yield from study.group_notes


def _verdicts(summary: pd.DataFrame, what: str, units: str) -> Iterator[str]:
    tested = summary[~summary["verdict"].isin([NO_TEST, TOO_FEW])]
    failed = [f"{row.parameter} of {row.model}" for row in tested[tested["verdict"] == FAILS].itertuples()]
    few = list(dict.fromkeys(summary.loc[summary["verdict"] == TOO_FEW, "model"]))
    but = f" There are too few {units} of {', '.join(few)} to tell." if few else ""
    if tested.empty:
        yield f"{what}: too few {units} to tell."
    elif failed:
        yield f"{what} FAILS for {', '.join(failed)}: those posteriors cannot be taken at their word.{but}"
    else:
        n = f"all {len(tested)} parameters" if len(tested) > 1 else "the one parameter"
        n += " that could be tested" if few else ""
        yield f"{what}: ranks of the truth show no departure from uniform for {n}.{but}"
