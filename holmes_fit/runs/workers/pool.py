"""What a pool of workers has to offer, and what a task without a result leaves."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from holmes_fit._support.errors import HolmesFitError

LOST = "WorkerLost"


@dataclass(frozen=True)
class Failure:
    """Why a task has no result."""

    kind: str  # the name of the exception, or ``"WorkerLost"`` if the task's process died every time
    message: str  # what the exception said
    traceback: str = ""  # where it came from, for people who look for the cause

    @property
    def lost(self) -> bool:
        """Whether the process died. It may have been short of memory, and do better another time."""
        return self.kind == LOST


class Pool(Protocol):
    """What does tasks: processes of this machine, or a cluster."""

    lost: tuple[type[BaseException], ...]  # what a task raises whose process died

    def submit(self, function: Callable[[], Any]) -> Future[Any]: ...

    def room(self) -> int:
        """Return how many tasks keep every worker busy."""
        ...

    def gone(self) -> HolmesFitError:
        """Return what to say when tasks are cancelled that nobody here has cancelled."""
        ...

    def check(self) -> None:
        """Refuse workers that compute something else; called where a task has failed before it began."""
        ...

    def close(self, unfinished: Iterable[Future[Any]]) -> None:
        """Stop what is under way."""
        ...
