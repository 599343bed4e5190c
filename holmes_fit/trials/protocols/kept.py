"""The form in which a run keeps trials, and the protocol that reads it."""

from __future__ import annotations

from holmes_fit.trials.protocols.schema import Columns, Feature, Protocol


def kept_form(protocol: Protocol) -> Protocol:
    """Return the protocol by which trials are written and read again.

    It is the same protocol, if a file can be written in its own columns and codes. Where files are laid out in another
    way, the trials are kept as the tidy table has them: in its columns, with 0 and 1 for choices and outcomes.
    """
    if not protocol.rearrangements:
        return protocol
    columns = Columns(
        outcome="outcome",
        feedback="feedback",
        covariates=protocol.columns.covariates,
        optional_covariates=protocol.columns.optional_covariates,
        restart=protocol.columns.restart,
    )
    features = {
        name: Feature(levels=feature.levels, copies=feature.copies) for name, feature in protocol.features.items()
    }
    return Protocol(
        name=protocol.name,
        title=protocol.title,
        about=protocol.about,
        source=protocol.source,
        length_normalized=protocol.length_normalized,
        allow_gaps=protocol.allow_gaps,
        columns=columns,
        features=features,
        exclusions=protocol.exclusions.model_copy(update={"people": {}}),
    )
