"""Probabilities and shares as people read them: never surer than they can be known."""

import math
from collections.abc import Sequence

MISSING = "–"  # what stands where there is no number
LEAST = 0.001
RULE_OF_THREE = 3.0  # of n draws without an event, up to 3 / n is possible at 95%


def probability(value: float, draws: float = math.inf) -> str:
    """Return a probability, never rounded to 0 or 1; a dash if there is none.

    If all or none of the (effective) ``draws`` that it was counted from are on one side, no more can be said than that
    it is below 3 / ``draws``, or above what is left of 1.

    Examples
    --------
    >>> probability(0.9731), probability(1.0, draws=4000), probability(0.0, draws=250)
    ('.973', '>.999', '<.012')
    """
    if not math.isfinite(value):
        return MISSING
    least = LEAST
    if draws > 0:
        least = max(LEAST, math.ceil(1000 * min(0.5, RULE_OF_THREE / draws)) / 1000)
    if value < least:
        return f"<{_places(least)}"
    if value > 1 - least:
        return f">{_places(1 - least)}"
    return _places(value)


def hundredths(value: float) -> str:
    """Return a probability to two places, never rounded to 0 or 1; a dash if there is none."""
    if not math.isfinite(value):
        return MISSING
    if value < 0.005:
        return "<0.01"
    return ">0.99" if value >= 0.995 else f"{value:.2f}"


def p_value(value: float) -> str:
    """Return a p-value with its sign: ``"= .031"``, ``"< .001"``; a dash if there is none."""
    if not math.isfinite(value):
        return MISSING
    text = probability(value)
    return f"{text[0]} {text[1:]}" if text[0] in "<>" else f"= {text}"


def share(value: float) -> str:
    """Return a share as a percentage, never rounded to all or nothing; a dash if there is none."""
    if not math.isfinite(value):
        return MISSING
    if 0 < value < 0.005:
        return "<1%"
    if 0.995 <= value < 1:
        return ">99%"
    return f"{value:.0%}"


def listed(texts: Sequence[str]) -> str:
    """Return ``"a, b and c"``."""
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _places(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")
