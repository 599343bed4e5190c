"""The small grammar of formulas such as ``alpha ~ group + age``. Nothing of a formula is ever evaluated.

``a:b`` is an interaction, ``a*b`` stands for ``a + b + a:b``, ``C(a)`` takes a number for a group, and ``scale(a)`` a
number of two values for a number. Names with other characters than letters, digits, _ and . stand in backticks.
"""

import re
from collections.abc import Iterator
from itertools import chain, combinations
from typing import NamedTuple

ALLOWED = "PARAMETER ~ COVARIATE + COVARIATE, with a:b for an interaction, a*b for all three, C(a) and scale(a)"
LONGEST = 1_000  # characters of a formula
MOST_IN_PRODUCT = 4  # covariates

NAME = r"(?:`[^`]+`|[^\W\d]\w*(?:\.\w+)*)"
FACTOR = re.compile(rf"\s*(?:(?P<how>C|scale)\(\s*(?P<inner>{NAME})\s*\)|(?P<name>{NAME}))\s*")
OPERATOR = re.compile(r"[+:*]")
INTERCEPT = re.compile(r"\s*1\s*\+")  # is always there


class Factor(NamedTuple):
    """A covariate, and how it is taken."""

    column: str
    how: str = ""  # "C" or "scale"; by its values, if empty

    def __str__(self) -> str:
        return f"{self.how}({self.column})" if self.how else self.column


Term = tuple[Factor, ...]  # whose product is taken


class Formula(NamedTuple):
    """A formula, understood."""

    text: str
    parameter: str
    terms: tuple[Term, ...]  # shorter ones first

    @property
    def factors(self) -> tuple[Factor, ...]:
        return tuple(dict.fromkeys(chain(*self.terms)))


def parse(text: str) -> Formula:
    """Return what a formula says, or raise a ValueError that says where it cannot be read."""
    if len(text) > LONGEST:
        raise ValueError(f"{len(text):,} characters")
    left, _, right = text.partition("~")
    parameter = FACTOR.fullmatch(left)
    if parameter is None or parameter["how"] or not right.strip():
        raise ValueError("not one parameter before ~, and covariates after it")
    sums: list[list[list[Factor]]] = [[[]]]  # products, by *, of interactions, by :
    for operator, factor in _read(right):
        if operator == "+":
            sums.append([[]])
        elif operator == "*":
            sums[-1].append([])
        sums[-1][-1].append(factor)
        if sum(map(len, sums[-1])) > MOST_IN_PRODUCT:
            raise ValueError(f"a product of more than {MOST_IN_PRODUCT} covariates")
    terms = {frozenset(term): term for product in sums for term in _multiplied(product)}
    return Formula(text, _name(parameter["name"]), tuple(sorted(terms.values(), key=len)))


def _read(text: str) -> Iterator[tuple[str, Factor]]:
    """Give every factor with the operator before it."""
    first = INTERCEPT.match(text)
    operator, at = "", first.end() if first else 0
    while at < len(text):
        found = FACTOR.match(text, at)
        if found is None:
            break
        yield operator, Factor(_name(found["inner"] or found["name"]), found["how"] or "")
        at = found.end()
        if at == len(text):
            return
        if OPERATOR.match(text, at) is None:
            break
        operator, at = text[at], at + 1
    rest = text[at:].strip()
    raise ValueError(f"{rest!r}, where a covariate or +, : or * should be" if rest else "nothing after an operator")


def _multiplied(product: list[list[Factor]]) -> Iterator[Term]:
    for size in range(1, len(product) + 1):
        for some in combinations(product, size):
            yield tuple(dict.fromkeys(chain(*some)))


def _name(text: str) -> str:
    return text.strip("`")
