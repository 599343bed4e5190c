"""What all tests share: Hypothesis without luck, seeds in reports, and a cache of compiled code that is never stale."""

import hashlib
import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile("holmes_fit", derandomize=True, deadline=None)
settings.load_profile("holmes_fit")


def _digest_of_sources() -> str:
    sources = sorted((ROOT / "holmes_fit" / "models" / "filters").glob("*.py"))
    return hashlib.blake2b(b"\0".join(path.read_bytes() for path in sources), digest_size=6).hexdigest()


# numba compiles a function anew when its own file changes, but not when a function that it calls changes in another
# file. So every state of the filters' sources has a cache of its own. This must happen before numba is imported.
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".pytest_cache" / "numba" / _digest_of_sources()))

# As in workers: threads of two processes would wait for each other. This must happen before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A shell lets background jobs ignore Ctrl-C, and their children with them. The tests of Ctrl-C are to pass there, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Print the seed of a test that failed: its module's ``SEED``."""
    report = yield
    seed = getattr(getattr(item, "module", None), "SEED", None)
    if report.failed and seed is not None:
        report.sections.append(("Seed", f"SEED = {seed}"))
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let a worker tell the process that began it how many spoilt files were read, and how large it has become."""
    worker = getattr(session.config, "workeroutput", None)
    if worker is not None:
        worker["fuzzing"] = _fuzzing().counts()


def pytest_testnodedown(node: Any) -> None:
    _fuzzing().of_workers.append(getattr(node, "workeroutput", {}).get("fuzzing", (0, 0.0)))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say it, where files were spoilt."""
    files, megabytes = zip(*(_fuzzing().of_workers or [_fuzzing().counts()]), strict=True)
    if sum(files):
        terminalreporter.write_line(f"Spoilt files that were read: {sum(files):,}; memory: {max(megabytes):,.0f} MB.")


def _fuzzing() -> Any:
    # The package is imported here, as the cache of compiled code must have been chosen before.
    from tests import fuzzing

    return fuzzing


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]):
    # The commands are imported here, for the same reason.
    from tests.commands import Shell

    return Shell(capsys)


@pytest.fixture(scope="module")
def cluster() -> Iterator[object]:
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(silence_logs=logging.CRITICAL + 1, **options) as cluster:
        yield cluster
