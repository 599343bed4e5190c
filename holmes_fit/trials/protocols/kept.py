"""The form in which a run keeps trials, and the protocol that reads it."""

from typing import Any

from holmes_fit.trials.protocols.codings import Feature
from holmes_fit.trials.protocols.schema import Protocol


def kept_form(protocol: Protocol) -> Protocol:
    """Return the protocol by which trials are written and read again.

    It is the same protocol, if a file can be written in its own columns and codes. Where files are laid out in another
    way, the trials are kept as the tidy table has them: in its columns, with 0 and 1 for choices and outcomes.
    """
    if not protocol.rearrangements:
        return protocol
    columns: dict[str, Any] = {"subject": "subject", "trial": ("trial",), "order": "whole", "choice": "choice"}
    columns |= {"outcome": "outcome", "correct": None, "feedback": "feedback"}
    features = {
        name: Feature(levels=feature.levels, copies=feature.copies) for name, feature in protocol.features.items()
    }
    plainly = Protocol(name=protocol.name, features={})
    as_in_a_plain_file = ("choice", "outcome", "correct", "feedback", "rows", "wide", "new_columns")
    if (scale := protocol.response) is not None:
        share = None if scale.step is None else scale.step / (scale.high - scale.low)
        scale = scale.model_copy(update={"column": "choice", "low": 0.0, "high": 1.0, "step": share, "missing": ()})
    changed = {name: getattr(plainly, name) for name in as_in_a_plain_file} | {
        "response": scale,
        "columns": protocol.columns.model_copy(update=columns),
        "features": features,
        "exclusions": protocol.exclusions.model_copy(update={"people": {}}),
    }
    return protocol.model_copy(update=changed)
