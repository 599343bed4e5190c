"""holmes_fit fits latent-cause models of human learning, flat and hierarchical, to participants' choices.

Names load when they are first used, so that importing the package is instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from holmes_fit._support.caches import find_room_for_caches

if TYPE_CHECKING:
    from holmes_fit._support.errors import HolmesFitError as HolmesFitError
    from holmes_fit._support.errors import InputError as InputError
    from holmes_fit.fitting.cohort import fit as fit
    from holmes_fit.fitting.cohort import read_fits as read_fits
    from holmes_fit.groups.comparison.compare import compare as compare
    from holmes_fit.groups.pooling.results import pool as pool
    from holmes_fit.models.own import load_model as load_model
    from holmes_fit.models.registry import MODELS as MODELS
    from holmes_fit.models.registry import Observer as Observer
    from holmes_fit.models.tracing import trace as trace
    from holmes_fit.models.tracing import trace_cohort as trace_cohort
    from holmes_fit.reporting.drawing import draw as draw
    from holmes_fit.reporting.writing import report as report
    from holmes_fit.studies.planning.designs import plan_designs as plan_designs
    from holmes_fit.studies.planning.study import plan as plan
    from holmes_fit.studies.planning.study import read_plan as read_plan
    from holmes_fit.studies.recovery.results import read_recovery as read_recovery
    from holmes_fit.studies.recovery.study import recover as recover
    from holmes_fit.studies.simulation import simulate as simulate
    from holmes_fit.trials.examples import example as example
    from holmes_fit.trials.importing.draft import draft_protocol as draft_protocol
    from holmes_fit.trials.importing.reading import import_files as import_files
    from holmes_fit.trials.protocols.catalogue import load_protocol as load_protocol
    from holmes_fit.trials.protocols.catalogue import protocol_names as protocol_names
    from holmes_fit.trials.reading import read_cohort as read_cohort

__version__ = "0.1.0"

find_room_for_caches()

_HOME = {
    "HolmesFitError": "_support.errors",
    "InputError": "_support.errors",
    "MODELS": "models.registry",
    "Observer": "models.registry",
    "compare": "groups.comparison.compare",
    "draft_protocol": "trials.importing.draft",
    "draw": "reporting.drawing",
    "example": "trials.examples",
    "fit": "fitting.cohort",
    "import_files": "trials.importing.reading",
    "load_model": "models.own",
    "load_protocol": "trials.protocols.catalogue",
    "plan": "studies.planning.study",
    "plan_designs": "studies.planning.designs",
    "pool": "groups.pooling.results",
    "protocol_names": "trials.protocols.catalogue",
    "read_cohort": "trials.reading",
    "read_fits": "fitting.cohort",
    "read_plan": "studies.planning.study",
    "read_recovery": "studies.recovery.results",
    "recover": "studies.recovery.study",
    "report": "reporting.writing",
    "simulate": "studies.simulation",
    "trace": "models.tracing",
    "trace_cohort": "models.tracing",
}

__all__ = [
    "MODELS",
    "HolmesFitError",
    "InputError",
    "Observer",
    "__version__",
    "compare",
    "draft_protocol",
    "draw",
    "example",
    "fit",
    "import_files",
    "load_model",
    "load_protocol",
    "plan",
    "plan_designs",
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
