"""holmes_fit fits latent-cause models of human learning, flat and hierarchical, to participants' choices.

Names load when they are first used, so that importing the package is instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from holmes_fit.caches import find_room_for_caches

if TYPE_CHECKING:
    from holmes_fit.cohort_traces import trace_cohort as trace_cohort
    from holmes_fit.comparison import compare as compare
    from holmes_fit.errors import HolmesFitError as HolmesFitError
    from holmes_fit.errors import InputError as InputError
    from holmes_fit.fitting import fit as fit
    from holmes_fit.fitting import read_fits as read_fits
    from holmes_fit.models import MODELS as MODELS
    from holmes_fit.models import Observer as Observer
    from holmes_fit.planning import plan as plan
    from holmes_fit.planning import read_plan as read_plan
    from holmes_fit.pooling import pool as pool
    from holmes_fit.protocols import load_protocol as load_protocol
    from holmes_fit.protocols import protocol_names as protocol_names
    from holmes_fit.recovery import read_recovery as read_recovery
    from holmes_fit.recovery import recover as recover
    from holmes_fit.reporting.cohort import draw as draw
    from holmes_fit.reporting.cohort import report as report
    from holmes_fit.simulation import simulate as simulate
    from holmes_fit.tracing import trace as trace
    from holmes_fit.trials import read_cohort as read_cohort

__version__ = "0.1.0"

find_room_for_caches()

_HOME = {
    "HolmesFitError": "errors",
    "InputError": "errors",
    "MODELS": "models",
    "Observer": "models",
    "compare": "comparison",
    "draw": "reporting.cohort",
    "fit": "fitting",
    "load_protocol": "protocols",
    "plan": "planning",
    "pool": "pooling",
    "protocol_names": "protocols",
    "read_cohort": "trials",
    "read_fits": "fitting",
    "read_plan": "planning",
    "read_recovery": "recovery",
    "recover": "recovery",
    "report": "reporting.cohort",
    "simulate": "simulation",
    "trace": "tracing",
    "trace_cohort": "cohort_traces",
}

__all__ = [
    "MODELS",
    "HolmesFitError",
    "InputError",
    "Observer",
    "__version__",
    "compare",
    "draw",
    "fit",
    "load_protocol",
    "plan",
    "pool",
    "protocol_names",
    "read_cohort",
    "read_fits",
    "read_plan",
    "read_recovery",
    "recover",
    "report",
    "simulate",
    "trace",
    "trace_cohort",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'holmes_fit' has no attribute {name!r}")
    return getattr(import_module(f"holmes_fit.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
