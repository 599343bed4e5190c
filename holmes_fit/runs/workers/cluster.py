"""The workers of a Dask cluster."""

import asyncio
import logging
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, cast

from holmes_fit._support.errors import HolmesFitError, InputError, Problem, plain, shown
from holmes_fit.runs.identity import fingerprint, unlike_here

CONNECT_SECONDS = 8
FIRST_WORKER_SECONDS = 60
GONE = (OSError, RuntimeError, CancelledError)  # what calls of a scheduler raise that has gone


class Cluster:
    """A Dask cluster, which by itself does the tasks of a lost worker again on the others."""

    def __init__(self, address: str):
        self._address = address
        try:
            import distributed
        except ImportError as error:
            advice = "Install them with: pip install 'holmes-fit[cluster]'"
            seen, allowed = "an installation without Dask", "one with the packages for clusters"
            raise self._refused(seen, allowed, advice) from error
        self.lost: tuple[type[BaseException], ...] = (distributed.KilledWorker,)
        self._levels = _silenced("distributed")
        # Whoever sends much is told to send less; a cohort's tasks are small, and large ones are no mistake either.
        warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
        connect: Any = distributed.Client
        try:
            _find_scheduler(address)
            self._client = connect(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except Exception as error:  # what another kind of server answers can lead to anything, to MemoryError even
            self._speak_again()
            seen = f"{shown(address)} ({_why_not(error)})"
            advice = "It looks like tcp://HOST:8786."
            raise self._refused(seen, "the address of a running Dask scheduler", advice) from error
        try:
            # A task, since some clusters have no workers until there is work to do.
            self._client.submit(int, pure=False).result(timeout=FIRST_WORKER_SECONDS)
            self.check()
        except TimeoutError as error:
            self.close(())
            seen = f"a cluster without workers for {FIRST_WORKER_SECONDS:g} seconds"
            raise self._refused(seen, "a cluster with workers", "Start its workers first.") from error
        except GONE as error:
            self.close(())
            raise self.gone() from error
        except BaseException:
            self.close(())
            raise
        self._executor = self._client.get_executor(pure=False)

    def _refused(self, seen: str, allowed: str, advice: str = "") -> InputError:
        return InputError([Problem("argument dask", seen, allowed, advice)])

    def check(self) -> None:
        """Make sure that all workers compute what this machine would."""
        advice = "Install there what is installed here, or give another address."
        try:
            there: dict[str, dict[str, str]] = self._client.run(fingerprint)
        except GONE as error:
            raise self.gone() from error
        except (ImportError, AttributeError) as error:
            raise self._refused(f"workers without this holmes-fit ({error})", "the same as here", advice) from error
        for worker, own in there.items():
            if seen := unlike_here(own):
                raise self._refused(f"the worker {plain(worker)} with {seen}", "the same code as here", advice)

    def room(self) -> int:
        try:
            return max(2, 2 * sum(self._client.ncores().values()))  # workers may come and go
        except GONE as error:
            raise self.gone() from error

    def submit(self, function: Callable[[], Any]) -> Future[Any]:
        return self._executor.submit(function)

    def gone(self) -> HolmesFitError:
        return HolmesFitError(
            f"The Dask cluster at {self._address} does not answer any more. "
            "What was done before is safe; give the same command again, and it goes on from there."
        )

    def close(self, unfinished: Iterable[Future[Any]]) -> None:
        with suppress(*GONE):
            for future in unfinished:
                future.cancel()
            self._client.close(timeout=2)
        self._speak_again()

    def _speak_again(self) -> None:
        for name, level in self._levels.items():
            logging.getLogger(name).setLevel(level)


def check_cluster(address: str) -> None:
    """Refuse the address of a cluster that cannot do the work: no scheduler, no workers, or other code there."""
    Cluster(address).close(())


def _find_scheduler(address: str) -> None:
    """Make sure that a scheduler answers; a client that finds none goes on trying for long after it was given up."""
    from distributed import Security, rpc

    connect, security = cast("Any", rpc), cast("Any", Security)
    secured = security().get_connection_args("client")  # certificates are those of Dask's configuration

    async def ask() -> None:
        async with (
            asyncio.timeout(CONNECT_SECONDS),
            connect(address, timeout=CONNECT_SECONDS, connection_args=secured) as server,
        ):
            identity = await server.identity()
        if identity["type"] != "Scheduler":
            raise ValueError(f"it is a {identity['type']}")

    with ThreadPoolExecutor(1) as thread:  # a notebook has an event loop of its own in this one
        thread.submit(asyncio.run, ask()).result()


def _why_not(error: Exception) -> str:
    if isinstance(error, OSError):  # a timeout is one as well
        return f"no answer in {CONNECT_SECONDS:g} seconds"
    return plain(str(error), limit=200) if isinstance(error, ValueError) else "what answers is no Dask scheduler"


def _silenced(package: str) -> dict[str, int]:
    """Keep the log of a package off the terminal; return the levels that were set before."""
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] == package]
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return levels
