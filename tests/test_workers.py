"""Many tasks over processes and over a Dask cluster: complete whatever happens, and stopped without traces."""

import logging
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest
from joblib.externals.loky.process_executor import _ExecutorManagerThread
from threadpoolctl import threadpool_info

from holmes_fit._support.errors import HolmesFitError, InputError
from holmes_fit.runs import identity
from holmes_fit.runs.workers import cluster as clusters
from holmes_fit.runs.workers import processes, tasks
from holmes_fit.runs.workers.pool import Failure
from holmes_fit.runs.workers.processes import usable_cores
from holmes_fit.runs.workers.tasks import do_all

POSIX_ONLY = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


# Tasks live in this module; workers import it by name.


def root(value: float) -> float:
    return math.sqrt(value)


def slow_root(value: float) -> float:
    time.sleep(0.1)
    return math.sqrt(value)


def leave(value: float) -> float:
    if value == 2:
        sys.exit("gone")
    return value


def stop_in_compiled_code(_: float) -> float:
    """Fail as a function of Numba's does that returns while Ctrl-C arrives."""
    unpickling = SystemError("_numba_unpickle returned a result with an exception set")
    unpickling.__cause__ = KeyboardInterrupt()
    raise SystemError("CPUDispatcher returned a result with an exception set") from unpickling


def unsendable(value: float) -> object:
    return (number for number in [value])


def threads(_: int) -> tuple[int, str | None]:
    import numpy as np

    np.ones((2, 2)) @ np.ones((2, 2))
    return max((pool["num_threads"] for pool in threadpool_info()), default=1), os.environ.get("NUMBA_NUM_THREADS")


def die_once(folder: Path, value: int) -> int:
    """Kill this process, the first time that the task with value 3 is done."""
    mark = folder / "died"
    if value == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)
    return value * value


def die_always(value: int) -> int:
    if value == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return value * value


def named_root(folder: Path, value: float) -> float:
    """Leave the number of this process in a file, so that somebody can kill it."""
    (folder / str(os.getpid())).touch()
    time.sleep(0.15)
    return math.sqrt(value)


# --- in this process and over several
@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_results_do_not_depend_on_the_number_of_workers(n_workers: int) -> None:
    results = list(do_all(root, (float(value) for value in range(20)), workers=n_workers))
    assert sorted(results) == [(number, math.sqrt(number)) for number in range(20)]


@pytest.mark.parametrize("n_workers", [1, 2])
def test_no_tasks_are_no_results(n_workers: int) -> None:
    assert list(do_all(root, [], workers=n_workers)) == []


def test_one_worker_is_this_process_and_pickles_nothing() -> None:
    seen = []
    assert [number for number, _ in do_all(seen.append, [object(), object()], workers=1)] == [0, 1]
    assert len(seen) == 2


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_task_that_raises_is_a_result_and_the_rest_go_on(n_workers: int) -> None:
    results = dict(do_all(root, [4.0, -1.0, 9.0], workers=n_workers))
    failure = results.pop(1)
    assert results == {0: 2.0, 2: 3.0}
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.lost) == ("ValueError", False)
    assert "math domain error" in failure.message
    assert "return math.sqrt(value)" in failure.traceback


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_task_that_exits_is_a_failure(n_workers: int) -> None:
    results = dict(do_all(leave, [1.0, 2.0, 3.0], workers=n_workers))
    assert results.pop(1).kind == "SystemExit"
    assert results == {0: 1.0, 2: 3.0}


def test_ctrl_c_in_compiled_code_is_no_failure() -> None:
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        list(do_all(stop_in_compiled_code, [1.0, 2.0], workers=1))


def test_a_result_that_cannot_be_sent_is_a_failure() -> None:
    failures = [failure for _, failure in do_all(unsendable, [1.0, 2.0], workers=2)]
    assert len(failures) == 2
    for failure in failures:
        assert isinstance(failure, Failure)
        assert "pickle" in failure.message.lower()


def noted(taken: list[float]) -> Iterator[float]:
    for value in range(500):
        taken.append(float(value))
        yield float(value)


@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_tasks_are_taken_as_they_are_needed(n_workers: int) -> None:
    taken: list[float] = []
    with closing(do_all(root, noted(taken), workers=n_workers)) as results:
        for count, _ in enumerate(results, start=1):
            assert len(taken) <= count + 2 * n_workers
            if count == 10:
                time.sleep(0.3)  # a slow taker, whom the workers wait for
            if count == 30:
                break


@pytest.mark.parametrize("n_workers", [1, 2])
def test_every_task_has_one_thread(n_workers: int) -> None:
    for _, (most, numba) in do_all(threads, range(2), workers=n_workers):
        assert most == 1
        assert n_workers == 1 or numba == "1"


def test_usable_cores_respect_the_affinity() -> None:
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)
    if hasattr(os, "sched_setaffinity"):
        program = (
            "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
            "from holmes_fit.runs.workers.processes import usable_cores; print(usable_cores())"
        )
        assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "1"


@pytest.mark.parametrize("count", [0, -1, True, 1.5, "2"])
def test_workers_must_be_a_count(count: object) -> None:
    with pytest.raises(InputError, match=r"argument workers: saw .*; allowed: a whole number from 1"):
        do_all(root, [1.0], workers=count)  # type: ignore[arg-type]


# --- workers that die
@POSIX_ONLY
def test_a_process_that_is_killed_loses_no_task(tmp_path: Path) -> None:
    results = dict(do_all(partial(die_once, tmp_path), range(12), workers=2))
    assert (tmp_path / "died").exists()
    assert results == {value: value * value for value in range(12)}


@POSIX_ONLY
def test_a_task_that_always_kills_its_process_is_a_failure_and_only_that(capfd: pytest.CaptureFixture[str]) -> None:
    results = dict(do_all(die_always, range(8), workers=2))
    failure = results.pop(3)
    assert isinstance(failure, Failure)
    assert failure.lost
    assert "died 3 times" in failure.message
    assert results == {value: value * value for value in range(8) if value != 3}
    assert capfd.readouterr().err == ""


def test_closing_early_stops_the_processes() -> None:
    before = {child.pid for child in psutil.Process().children()}
    with closing(do_all(time.sleep, [0.0, *[600.0] * 9], workers=2)) as results:
        assert next(results) == (0, None)
        children = psutil.Process().children()
        # Beside the workers there is a process that looks after semaphores, and ends with this one.
        started = [child.pid for child in children if child.pid not in before and "LokyProcess" in str(child.cmdline())]
        assert len(started) == 2
        begun = time.monotonic()
    assert time.monotonic() - begun < 10
    assert not any(alive(pid) for pid in started)


@pytest.mark.usefixtures("late_manager")
def test_stopping_right_after_a_task_is_given_makes_no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool's thread is kept busy between a result and its next look at the tasks; meanwhile all is stopped."""
    finished = []

    def interrupted(*arguments: object, **options: object) -> object:
        if finished:
            raise KeyboardInterrupt("stopped")
        return wait(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(tasks, "wait", interrupted)
    results = do_all(time.sleep, [0.0, *[60.0] * 9], workers=2)
    finished.append(next(results))
    with pytest.raises(KeyboardInterrupt, match="stopped"):
        next(results)


@pytest.fixture
def late_manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the pool's thread pause after each result, and see that it does not die; pytest reports if it does."""
    original = _ExecutorManagerThread.process_result_item

    def late(thread: _ExecutorManagerThread, result: object) -> None:
        original(thread, result)
        time.sleep(1)

    monkeypatch.setattr(_ExecutorManagerThread, "process_result_item", late)
    died: list[object] = []
    monkeypatch.setattr(threading, "excepthook", died.append)
    yield
    assert not died


STOPPED = """
import os, sys, time
from holmes_fit.runs.workers.tasks import do_all
def task(value):
    if value:
        open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
        time.sleep(600)
if __name__ == "__main__":
    try:
        for number, _ in do_all(task, [0] + [1] * 5, workers=2):
            print("result", number, flush=True)
    except KeyboardInterrupt:
        print("stopped", flush=True)
        sys.exit(130)
"""


@pytest.fixture
def stoppable(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A program, in a process group of its own, whose two workers are busy for ten minutes."""
    script, folder = tmp_path / "program.py", tmp_path / "busy"
    script.write_text(STOPPED)
    folder.mkdir()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    process = subprocess.Popen([sys.executable, str(script), str(folder)], **pipes)  # type: ignore[call-overload]
    try:
        wait_until(lambda: len(list(folder.iterdir())) == 2, 60)
        yield process, [int(path.name) for path in folder.iterdir()]
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_until(true: object, seconds: float) -> None:
    limit = time.monotonic() + seconds
    while not true():  # type: ignore[operator]
        assert time.monotonic() < limit, "waited in vain"
        time.sleep(0.05)


@POSIX_ONLY
def test_ctrl_c_stops_at_once_and_leaves_no_process_and_no_noise(
    stoppable: tuple[subprocess.Popen[str], list[int]],
) -> None:
    process, busy = stoppable
    started = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
    assert set(busy) < set(started)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the program and all of its workers
    out, err = process.communicate(timeout=15)
    assert process.returncode == 130
    assert out == "result 0\nstopped\n"
    assert err == ""
    assert not any(alive(pid) for pid in busy)
    wait_until(lambda: not any(alive(pid) for pid in started), 10)


@POSIX_ONLY
def test_ctrl_c_makes_no_noise_while_workers_start(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(STOPPED)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    process = subprocess.Popen([sys.executable, str(script), str(tmp_path)], **pipes)  # type: ignore[call-overload]
    program = psutil.Process(process.pid)
    wait_until(lambda: any("LokyProcess" in str(child.cmdline()) for child in program.children()), 60)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=15)
    assert (process.returncode, out.replace("result 0\n", ""), err) == (130, "stopped\n", "")


@POSIX_ONLY
def test_workers_do_not_outlive_a_program_that_is_killed(stoppable: tuple[subprocess.Popen[str], list[int]]) -> None:
    process, busy = stoppable
    process.kill()
    wait_until(lambda: not any(alive(pid) for pid in busy), 15)


HOLDING = """
import ctypes, os, sys
from holmes_fit.runs.workers.tasks import do_all
def task(folder):
    open(os.path.join(folder, str(os.getpid())), "w").close()
    ctypes.PyDLL(None).sleep(300)
if __name__ == "__main__":
    list(do_all(task, [sys.argv[1]] * 2, workers=2))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a service of Linux")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGHUP"])
def test_workers_in_compiled_code_do_not_outlive_their_program(name: str, tmp_path: Path) -> None:
    """No thread of theirs has a turn, as compiled code holds the interpreter."""
    script, folder = tmp_path / "program.py", tmp_path / "busy"
    script.write_text(HOLDING)
    folder.mkdir()
    with subprocess.Popen([sys.executable, str(script), str(folder)], start_new_session=True) as process:
        wait_until(lambda: len(list(folder.iterdir())) == 2, 60)
        process.send_signal(signal.Signals[name])
        process.wait(10)
    busy = [int(path.name) for path in folder.iterdir()]
    try:
        wait_until(lambda: not any(alive(pid) for pid in busy), 10)
    finally:
        for pid in filter(alive, busy):
            os.kill(pid, signal.SIGKILL)


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


MODEL_OF_A_NOTEBOOK = """
from dataclasses import dataclass
from typing import ClassVar
from holmes_fit.models.registry import MODELS, find_model
from holmes_fit.runs.workers.tasks import do_all

@dataclass(frozen=True)
class Mine:
    name: str = "mine"
    level: float = 0.0

MODELS["mine"] = Mine(level=0.25)
print([getattr(model, "level", model) for _, model in do_all(find_model, ["mine", "mine"], workers=2)])
"""


def test_a_model_that_a_notebook_has_registered_is_known_to_its_workers() -> None:
    done = subprocess.run([sys.executable, "-c", MODEL_OF_A_NOTEBOOK], capture_output=True, text=True, check=True)
    assert done.stdout == "[0.25, 0.25]\n"


# --- a Dask cluster
def test_a_cluster_gives_the_same_results(cluster: object, capfd: pytest.CaptureFixture[str]) -> None:
    results = dict(do_all(root, [0.0, 1.0, -1.0, 4.0], dask=cluster.scheduler_address))  # type: ignore[attr-defined]
    failure = results.pop(2)
    assert results == {0: 0.0, 1: 1.0, 3: 2.0}
    assert isinstance(failure, Failure)
    assert failure.kind == "ValueError"
    assert capfd.readouterr().err == ""


def test_a_cluster_gets_tasks_as_they_are_needed(cluster: object) -> None:
    taken: list[float] = []
    with closing(do_all(root, noted(taken), dask=cluster.scheduler_address)) as results:  # type: ignore[attr-defined]
        for count, _ in enumerate(results, start=1):
            assert len(taken) <= count + 4
            if count == 30:
                break


@POSIX_ONLY
def test_a_cluster_that_loses_a_worker_loses_no_task(
    cluster: object, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    address = cluster.scheduler_address  # type: ignore[attr-defined]
    results: dict[int, object] = {}
    for number, result in do_all(partial(named_root, tmp_path), map(float, range(24)), dask=address):
        results[number] = result
        if len(results) == 5:
            os.kill(int(next(tmp_path.iterdir()).name), signal.SIGKILL)
    assert results == {number: math.sqrt(number) for number in range(24)}
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("nonsense", "missing port number"),
        ("", "missing port number"),
        ("foo://lab3:8786", "unknown address scheme 'foo'"),
        ("tcp://127.0.0.1:1", "no answer in 1 seconds"),
    ],
)
def test_an_address_without_a_cluster_is_named(address: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    assert clusters.CONNECT_SECONDS <= 10
    monkeypatch.setattr(clusters, "CONNECT_SECONDS", 1)
    with pytest.raises(InputError, match=f"argument dask: saw '{address}' .*{why}.*the address of a running Dask"):
        list(do_all(root, [1.0], dask=address))


def test_the_address_of_a_worker_is_no_address_of_a_cluster(cluster: object) -> None:
    address = next(iter(cluster.workers.values())).worker_address  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="it is a Worker"):
        list(do_all(root, [1.0], dask=address))


@pytest.mark.parametrize("package", ["holmes-fit", "numpy", "numba", "scipy"])
def test_a_cluster_with_other_packages_is_refused(
    package: str, cluster: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = clusters.unlike_here
    monkeypatch.setattr(clusters, "unlike_here", lambda there: original({**there, package: "0.0"}))
    with pytest.raises(InputError, match=rf"saw the worker tcp://.* with {package} 0\.0, not [1-9\d.]+; allowed: the"):
        list(do_all(root, [1.0], dask=cluster.scheduler_address))  # type: ignore[attr-defined]


@pytest.fixture
def other_code(tmp_path: Path) -> dict[str, str]:
    """The environment of a worker with other code of the same version."""
    package = Path(identity.__file__).parents[1]
    shutil.copytree(package, tmp_path / "elsewhere" / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "elsewhere" / package.name / "models" / "parameters.py").open("a") as file:
        file.write("\n\nELSEWHERE = True\n")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "elsewhere"), str(Path(__file__).parent)])}


@contextmanager
def worker_of(address: str, environment: dict[str, str]) -> Iterator[None]:
    options = ["--no-nanny", "--no-dashboard", "--nthreads", "1"]
    program = [sys.executable, "-m", "distributed.cli.dask_worker", address, *options]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with tempfile.TemporaryDirectory() as folder:  # Python looks for packages where it begins, before anywhere else
        worker = subprocess.Popen(program, env=environment, cwd=folder, **silent)
        try:
            yield
        finally:
            worker.kill()
            worker.wait()


def test_a_worker_with_other_code_that_joins_late_is_refused(other_code: dict[str, str]) -> None:
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 60}
    refused = r"saw the worker tcp://.* with other code of holmes-fit; allowed: the same code as here"
    with distributed.LocalCluster(**options) as own:
        address = own.scheduler_address
        with closing(do_all(slow_root, [1.0] * 3000, dask=address)) as results:
            assert next(results)[1] == 1.0
            with worker_of(address, other_code), pytest.raises(InputError, match=refused):
                list(results)


@pytest.fixture
def certificate(tmp_path: Path) -> dict[str, str]:
    """What Dask's configuration says of a certificate, for all roles."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl")
    key, own = tmp_path / "key.pem", tmp_path / "own.pem"
    subject = ["-subj", "/CN=localhost", "-days", "2"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject, "-keyout", key, "-out", own]
    subprocess.run(made, check=True, capture_output=True)
    said = {"distributed.comm.tls.ca-file": str(own), "distributed.comm.require-encryption": True}
    for role in ("client", "scheduler", "worker"):
        said |= {f"distributed.comm.tls.{role}.cert": str(own), f"distributed.comm.tls.{role}.key": str(key)}
    return said


def test_a_cluster_by_tls_takes_the_certificates_of_dasks_configuration(certificate: dict[str, str]) -> None:
    distributed = pytest.importorskip("distributed")
    import dask

    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 60}
    with (
        dask.config.set(certificate),
        distributed.LocalCluster(protocol="tls://", security=distributed.Security(), **options) as own,
    ):
        address = own.scheduler_address
        assert address.startswith("tls://")
        assert list(do_all(root, [4.0], dask=address)) == [(0, 2.0)]
        with dask.config.set(dict.fromkeys(certificate)), pytest.raises(InputError, match="argument dask"):
            list(do_all(root, [4.0], dask=address))


def test_a_scheduler_that_dies_while_its_workers_are_asked_is_said_to_be_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    program = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard", "--port", "0"]
    scheduler = subprocess.Popen([*program, "--host", "127.0.0.1"], stderr=subprocess.PIPE, text=True)
    try:
        assert scheduler.stderr is not None
        said = iter(scheduler.stderr)
        address = next(line for line in said if "Scheduler at:" in line).split()[-1]
        original = distributed.Client.run

        def die_first(client: object, *arguments: object, **options: object) -> object:
            scheduler.kill()
            scheduler.wait()
            return original(client, *arguments, **options)

        monkeypatch.setattr(distributed.Client, "run", die_first)
        with worker_of(address, dict(os.environ)), pytest.raises(HolmesFitError, match="does not answer any more"):
            list(do_all(root, [1.0], dask=address))
    finally:
        scheduler.kill()
        scheduler.communicate()


def test_a_cluster_without_workers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(clusters, "FIRST_WORKER_SECONDS", 0.5)
    options = {"n_workers": 0, "dashboard_address": ":0", "silence_logs": logging.CRITICAL + 1}
    with (
        distributed.LocalCluster(**options) as empty,
        pytest.raises(InputError, match=r"a cluster without workers for 0\.5 seconds.*Start its workers first"),
    ):
        list(do_all(root, [1.0], dask=empty.scheduler_address))


def test_a_cluster_that_ends_is_said_to_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(clusters, "CONNECT_SECONDS", 2)
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "processes": False}
    options["protocol"] = "tcp://"
    ending = distributed.LocalCluster(silence_logs=logging.CRITICAL + 1, **options)
    results = do_all(slow_root, [1.0] * 50, dask=ending.scheduler_address)
    assert next(results)[1] == 1.0
    ending.close()
    with pytest.raises(HolmesFitError, match=r"The Dask cluster at .* does not answer any more"):
        list(results)


def test_without_dask_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"an installation without Dask.*pip install 'holmes-fit\[cluster\]'"):
        list(do_all(root, [1.0], dask="tcp://lab3:8786"))


def test_the_pools_own_thread_dies_silently_and_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine it may be told to stop at a moment that it does not expect."""
    told: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda died: told.append(died.thread))
    own, other = (
        threading.Thread(target=math.sqrt, args=(-1,), name=name) for name in (processes.POOLS_OWN_THREAD, "other")
    )
    with processes._without_last_words():
        for thread in (own, other):
            thread.start()
            thread.join()
    assert told == [other]
