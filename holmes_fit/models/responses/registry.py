"""The kinds of answers that a protocol can name. Adding one is adding an entry."""

from holmes_fit._support.errors import InputError, Problem, nearest, shown
from holmes_fit.models.responses.choices import CHOICES, Choices
from holmes_fit.models.responses.contract import Response
from holmes_fit.models.responses.numbers import Numbers
from holmes_fit.models.responses.ratings import Ratings
from holmes_fit.trials.protocols.schema import Protocol

RESPONSES: dict[str, type[Response]] = {each.name: each for each in (Choices, Ratings, Numbers)}


def response_of(protocol: Protocol) -> Response:
    """Return what people answer in a protocol: choices, unless it has a table [response]."""
    scale = protocol.response
    if scale is None:
        return CHOICES
    kinds = [name for name in RESPONSES if name != CHOICES.name]
    if scale.kind not in kinds:
        where = f"protocol {protocol.name}, key response.kind"
        raise InputError([Problem(where, shown(scale.kind), ", ".join(kinds), nearest(scale.kind, kinds))])
    return RESPONSES[scale.kind].of(scale)


def names_of_responding(predicts_answers: bool = False) -> tuple[str, ...]:
    """Return the names of the parameters of all responses, or those that models have which predict answers."""
    own = (each.name for response in RESPONSES.values() for each in response.parameters_beside(predicts_answers))
    return tuple(dict.fromkeys(own))
