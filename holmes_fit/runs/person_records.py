"""What the record of one person's fit must hold, so that groups and comparisons can start from it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holmes_fit.runs.records import Record
from holmes_fit.settings.spaces import FreeParameter

EVIDENCE = ("log_evidence", "log_evidence_error", "log_evidence_bias")


def conditions_of(record: Record) -> tuple[str, ...]:
    """Return the conditions between which parameters differ; none if there are none."""
    listed = record.facts.get("conditions", ())
    each = listed if isinstance(listed, list) else ()
    return tuple(str(own.get("condition", "")) for own in each if isinstance(own, dict))


def flaw_of(record: Record, first: Record, axes: Sequence[FreeParameter], in_conditions: bool) -> str:
    """Return what is wrong with a record, beside the first of the same run; nothing if it is sound."""
    conditions = conditions_of(record) if in_conditions else ()
    if in_conditions and (not conditions or conditions != conditions_of(first)):
        return "other conditions than the first person has"
    facts: Any = record.facts["conditions"] if in_conditions else [record.facts]
    if not all(_is_finite(own.get(name)) for own in facts for name in EVIDENCE):
        return f"something else than finite numbers in {', '.join(EVIDENCE)}"
    leading = (len(conditions),) if in_conditions else ()
    return next(_flaws(record.arrays, first.arrays, axes, leading), "")


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


Arrays = Mapping[str, NDArray[Any]]


def _flaws(arrays: Arrays, first: Arrays, axes: Sequence[FreeParameter], leading: tuple[int, ...]) -> Iterator[str]:
    for axis in axes:
        for kind, wanted in (("positions", axis.positions), ("log_prior", axis.log_weights)):
            own = arrays.get(f"{kind}_{axis.name}", np.empty(0))
            if own.dtype.kind != "f" or own.shape != wanted.shape or not np.allclose(own, wanted):
                yield f"another lattice of {axis.name} than its preset has"
        coarse = arrays.get(f"coarse_{axis.name}", np.empty(0))
        if coarse.dtype.kind not in "iu" or coarse.ndim != 1 or not np.isin(coarse, np.arange(axis.nodes)).all():
            yield f"coarse_{axis.name} that are no nodes of its lattice"
        elif not np.array_equal(coarse, first.get(f"coarse_{axis.name}", ())):
            yield f"coarse_{axis.name} that are not those of the first person"
    shapes = {
        "log_likelihood": (*leading, *(axis.nodes for axis in axes)),
        "of_sets": (len(arrays.get("of_sets", ())), *leading, *(len(arrays[f"coarse_{axis.name}"]) for axis in axes)),
        "draws": first["draws"].shape if "draws" in first else (),
    }
    for name, shape in shapes.items():
        own = arrays.get(name, np.empty(0, "O"))
        is_none = name == "of_sets" and own.shape == (0,)  # of a likelihood that is exact
        if own.dtype.kind != "f" or (own.shape != shape and not is_none) or not np.isfinite(own).all():
            yield f"something else than {' x '.join(map(str, shape))} finite numbers in {name}"
