"""The rule of choices with its values by name."""

from typing import NamedTuple


class Response(NamedTuple):
    """The response parameters at one point."""

    beta: float = 3.0
    lapse: float = 0.02
    bias: float = 0.0


AS_PREDICTED = Response(1.0, 0.0, 0.0)
