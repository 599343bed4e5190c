"""Is anything lost, or left behind, whatever stops a command?

Run with ``python -m benchmarks.chaos --minutes 60``. Commands are killed at random moments, by four signals, themselves
or a process that they have begun; their folder is deleted, their disk is full, their terminal is gone. The same command
is then given again, until it ends by itself, and must leave what it leaves undisturbed: the same bytes (NetCDF without
its times), no process, no temporary file, no lock. Commands are forked from here, where all is imported already, into
sessions of their own.
"""

import atexit
import filecmp
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import psutil
import typer
import xarray as xr

import holmes_fit as hf
import paper.run
from holmes_fit._support.atomic import LEFT_OVER
from holmes_fit.cli import app
from holmes_fit.cli import run as run_program
from holmes_fit.groups.comparison import compare  # noqa: F401  # imported here, commands need not
from holmes_fit.reporting import writing  # noqa: F401
from holmes_fit.runs.lock import holder
from holmes_fit.runs.sets import READY
from holmes_fit.studies.recovery.figures import draw_figures  # noqa: F401
from holmes_fit.trials.writing import write_trials
from paper.__main__ import app as replicate
from paper.studies import Sizes

SIGNALS = ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT")
LEFT_SECONDS = 20  # until processes of a dead command must have ended
PATIENCE = 900  # seconds for one command
GROUP_DRAWS = "[pooling]\nchains = 2\ntune = 50\ndraws = 50\n"
PRESET = 'base = "quick"\n[search]\nevaluations = 6\nstarts = 2\n[posterior]\ndraws = 20\n' + GROUP_DRAWS
SIZES = dict.fromkeys(("pairs", "seeds", "forward_seeds", "conditioning_seeds"), 4)
DONE = (0, 3)
COMMON = ("--preset", "small.toml", "--models", "rescorla_wagner,bias")
WORKERS = ("--workers", "2")


@dataclass(frozen=True)
class Job:
    """One command, in a folder that holds what it begins with."""

    name: str
    arguments: tuple[str, ...]
    output: str  # the file or folder that it makes or changes
    before: tuple[str, ...] = ()  # the jobs whose outputs it begins with


JOBS = {
    job.name: job
    for job in (
        Job("fit", ("fit", "data.csv", "--protocol", "conditioning", *COMMON, *WORKERS, "--out", "run"), "run"),
        Job("pool", ("pool", "run", "--preset", "small.toml"), "run", ("fit",)),
        Job("compare", ("compare", "run", "--preset", "small.toml"), "run", ("fit",)),
        Job("report", ("report", "run", "--out", "run.pdf", "--force"), "run.pdf", ("compare",)),
        Job("import", ("import", "data.csv", "--kind", "table", "--out", "made/trials.csv", "--force"), "made"),
        Job(
            "recover",
            ("recover", "--protocol", "conditioning", "--subjects", "3", *COMMON, *WORKERS, "--out", "study"),
            "study",
        ),
        Job(
            "plan",
            ("plan", "--protocol", "conditioning", "--trials", "20", "--people", "3", *COMMON, *WORKERS, "--out", "p"),
            "p",
        ),
        Job("replicate", ("conditioning", "--quick", *WORKERS, "--out", "paper"), "paper"),
    )
}


@dataclass
class Arena:
    """A folder in which a job is done again and again, always under the same path."""

    root: Path
    templates: dict[str, Path] = field(default_factory=dict)  # by job, what is there when it has been done
    seconds: dict[str, float] = field(default_factory=dict)  # by job, how long it takes undisturbed

    @property
    def work(self) -> Path:
        return self.root / "work"

    def prepare(self, job: Job) -> None:
        """Let the folder be as it is before a job; undisturbed, those before it are done once."""
        for name in (*job.before, *(() if job.name in self.templates else (job.name,))):
            if name not in self.templates:
                self._do_undisturbed(JOBS[name])
        self._begin_from(job)

    def _begin_from(self, job: Job) -> None:
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.rmtree(self.root / "tmp", ignore_errors=True)
        (self.root / "tmp").mkdir()
        shutil.copytree(self.templates[job.before[0]] if job.before else self.root / "start", self.work)

    def _do_undisturbed(self, job: Job) -> None:
        for name in job.before:
            if name not in self.templates:
                self._do_undisturbed(JOBS[name])
        self._begin_from(job)
        begun = time.monotonic()
        code = self.ended(self.begin(job))
        if code not in DONE:
            raise SystemExit(f"{job.name} fails undisturbed, with {code}:\n{self.said()}")
        self.seconds[job.name] = time.monotonic() - begun
        self.templates[job.name] = self.root / job.name
        shutil.copytree(self.work, self.templates[job.name])

    def begin(self, job: Job, trouble: Callable[[], None] = lambda: None) -> int:
        """Begin a command in a process of its own, and return its number."""
        process = os.fork()
        if process == 0:
            self._be(job, trouble)
        return process

    def _be(self, job: Job, trouble: Callable[[], None]) -> None:
        code: object = 99
        try:
            os.setsid()
            for name in SIGNALS[1:]:
                signal.signal(name_of(name), signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)
            os.chdir(self.work)
            os.environ["TMPDIR"] = tempfile.tempdir = str(self.root / "tmp")
            said = os.open(self.root / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(said, stream)
            trouble()
            sys.argv = ["holmes-fit", *job.arguments]
            run_program(replicate if job.name == "replicate" else app, "holmes-fit")
        except SystemExit as ended:
            code = ended.code
            with suppress(BaseException):
                atexit._run_exitfuncs()
        finally:
            os._exit(code if isinstance(code, int) else 98)

    def ended(self, process: int) -> int:
        """Wait for a command, and return its exit code; minus the signal that has ended it."""
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            found, status = os.waitpid(process, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        for each in session(process):
            each.kill()
        os.waitpid(process, 0)
        return 97

    def said(self) -> str:
        return (self.root / "said").read_text(errors="replace")

    def differences(self, job: Job) -> list[str]:
        """Return what differs from the same job undisturbed, and what is left behind."""
        found = [f"left: {path}" for path in self.work.rglob("*") if LEFT_OVER.fullmatch(path.name)]
        found += [f"left: {path}" for path in self.work.rglob(READY)]
        found += [f"left: {path}" for path in (self.root / "tmp").iterdir()]
        found += [f"locked: {path}" for path in self.work.rglob(".lock") if holder(path.parent)]
        whole = self.templates[job.name]
        own, other = ({str(path.relative_to(root)) for path in files(root)} for root in (self.work, whole))
        found += [f"only in one: {name}" for name in sorted(own ^ other)]
        found += [f"differs: {name}" for name in sorted(own & other) if not same(self.work / name, whole / name)]
        return found


def files(root: Path) -> Iterator[Path]:
    return (
        path for path in root.rglob("*") if path.is_file() and path.name != ".lock" and "__pycache__" not in str(path)
    )


def same(one: Path, other: Path) -> bool:
    """Return whether files are the same but for the times that they hold, and digests of files that hold times."""
    if one.suffix == ".nc":
        groups = [xr.open_groups(path, engine="h5netcdf") for path in (one, other)]
        for group in (group for each in groups for group in each.values()):
            group.attrs.pop("created_at", None)
        return groups[0].keys() == groups[1].keys() and all(
            groups[0][name].identical(groups[1][name]) for name in groups[0]
        )
    if one.suffix == ".json" and (one.name == "manifest.json" or one.parent.name == "stamps"):
        return without_times(one) == without_times(other)
    return filecmp.cmp(one, other, shallow=False)


def without_times(path: Path) -> object:
    content = json.loads(path.read_text())
    content.pop("begun", None)
    for name in content.get("files", ()):
        if name.endswith(".nc"):
            content["files"][name] = ""
    return content


def session(process: int) -> list[psutil.Process]:
    """Return the living processes that a command has begun, itself among them."""
    found = []
    for each in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if os.getsid(each.pid) == process and each.status() != psutil.STATUS_ZOMBIE:
                found.append(each)
    return found


def name_of(signal_name: str) -> signal.Signals:
    return signal.Signals[signal_name]


# ------------------------------------------------------------------------------------------------------- what happens
def killed(arena: Arena, job: Job, chance: random.Random) -> str:
    """Kill the command, or one of its processes, at a random moment."""
    process = arena.begin(job)
    time.sleep(chance.uniform(0, 1.1 * arena.seconds[job.name]))
    others = [each for each in session(process) if each.pid != process]
    victim = chance.choice(others).pid if others and chance.random() < 0.4 else process
    name = chance.choice(SIGNALS)
    with suppress(ProcessLookupError):
        os.kill(victim, name_of(name))
    code = arena.ended(process)
    check_nobody_left(process)
    return f"{name} to {'itself' if victim == process else 'a child'}: {'ended' if code in DONE else 'stopped'}"


def deleted(arena: Arena, job: Job, chance: random.Random) -> str:
    """Delete the folder that is worked in; it must not end as if all were well without one."""
    process = arena.begin(job)
    time.sleep(chance.uniform(0, arena.seconds[job.name]))
    over = os.waitpid(process, os.WNOHANG)[0] != 0
    target = arena.work / job.output
    shutil.rmtree(target, ignore_errors=True) if target.is_dir() else target.unlink(missing_ok=True)
    code = 0 if over else arena.ended(process)
    check_nobody_left(process)
    whole = arena.templates[job.name]
    there = all((arena.work / path.relative_to(whole)).exists() for path in files(whole / job.output))
    if code in DONE and not over and not there and target.exists():
        raise Broken(f"ended with {code}, but not all is there")
    check_clean(arena)
    arena.prepare(job)
    return f"folder deleted: {'ended' if code in DONE else 'stopped'}"


def full(arena: Arena, job: Job, chance: random.Random) -> str:
    """Let no file grow beyond a random size."""
    sizes = sorted(path.stat().st_size for path in files(arena.templates[job.name]))
    most = chance.randint(0, sizes[-1])
    process = arena.begin(job, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
    code = arena.ended(process)
    check_nobody_left(process)
    check_clean(arena)
    return f"no space: {'ended' if code in DONE else 'stopped'}"


def check_clean(arena: Arena) -> None:
    said = arena.said()
    if "Traceback" in said or "unexpected error" in said:
        raise Broken(f"it said:\n{said}")


def unheard(arena: Arena, job: Job, chance: random.Random) -> str:
    """Take its streams away: the work must be done all the same."""
    kind = chance.choice(("closed", "full", "nobody reads"))

    def lose() -> None:
        reader, writer = os.pipe()
        os.close(reader)
        for stream in (1, 2):
            if kind == "closed":
                os.close(stream)
            else:
                os.dup2(os.open("/dev/full", os.O_WRONLY) if kind == "full" else writer, stream)

    process = arena.begin(job, lose)
    code = arena.ended(process)
    check_nobody_left(process)
    if code not in (*DONE, 1) or arena.differences(job):
        raise Broken(f"without streams ({kind}) it ended with {code}, and {arena.differences(job)[:3]}")
    return f"streams {kind}: ended"


class Broken(Exception):
    """What must hold does not."""


def check_nobody_left(process: int) -> None:
    limit = time.monotonic() + LEFT_SECONDS
    while (left := session(process)) and time.monotonic() < limit:
        time.sleep(0.05)
    if left:
        names = [" ".join(each.cmdline())[:100] for each in left]
        for each in left:
            each.kill()
        raise Broken(f"{len(left)} processes left: {names}")


TROUBLES: Sequence[tuple[Callable[[Arena, Job, random.Random], str], int]] = (
    (killed, 8), (deleted, 1), (full, 1), (unheard, 1)
)  # fmt: skip


def once(arena: Arena, job: Job, chance: random.Random) -> list[str]:
    """Disturb a job once or more, let it end, and return what happened; raise if anything is lost or left."""
    arena.prepare(job)
    happened = []
    for _ in range(chance.randint(1, 3)):
        (trouble,) = chance.choices([each for each, _ in TROUBLES], [often for _, often in TROUBLES])
        happened.append(trouble(arena, job, chance))
    process = arena.begin(job)
    code = arena.ended(process)
    check_nobody_left(process)
    if code not in DONE or (wrong := arena.differences(job)):
        raise Broken(f"after {happened} it ended with {code}: {wrong[:5] if code in DONE else arena.said()}")
    return happened


def main(
    minutes: float = 60,
    seed: Annotated[int | None, typer.Option(help="Of the moments; another one each time by default.")] = None,
    only: Annotated[str, typer.Option(help="Some of the commands, separated by commas.")] = ",".join(JOBS),
    rounds: Annotated[int, typer.Option(help="How often each command is disturbed at least.")] = 1,
) -> None:
    """Disturb commands for some time, and print what happened."""
    paper.run.QUICK = Sizes(**SIZES)
    seed = time.time_ns() % 2**32 if seed is None else seed
    print(f"moments from seed {seed}", flush=True)
    chance, counts, broken = random.Random(seed), Counter[tuple[str, str]](), 0
    arena = Arena(Path(tempfile.mkdtemp(prefix="chaos_")))  # which no command that ends here is to remove
    try:
        _lay_out(arena.root / "start")
        end, number = time.monotonic() + 60 * minutes, 0
        while time.monotonic() < end or number < rounds:
            number += 1
            for name in only.split(","):
                try:
                    happened = once(arena, JOBS[name], chance)
                except Broken as error:
                    broken += 1
                    happened = ["BROKEN"]
                    print(f"{name}: {error}", flush=True)
                counts.update((name, each) for each in happened)
                print(f"{name}: {'; '.join(happened)}", flush=True)
    finally:  # also when someone has seen enough
        shutil.rmtree(arena.root)
        _print(counts, broken)
    raise typer.Exit(1 if broken else 0)


def _print(counts: Counter[tuple[str, str]], broken: int) -> None:
    for (name, what), count in sorted(counts.items()):
        print(f"{name:10} {what:34} {count:5d}")
    kills = sum(count for (_, what), count in counts.items() if what.startswith("SIG"))
    print(f"{sum(counts.values())} disturbances, {kills} of them kills; {broken} times something was lost or left.")


def _lay_out(folder: Path) -> None:
    (folder / "made").mkdir(parents=True)
    (folder / "small.toml").write_text(PRESET)
    people = hf.simulate("conditioning", "rescorla_wagner", subjects=4, seed=1).cohort
    write_trials(people.trials, people.protocol, folder / "data.csv")


if __name__ == "__main__":
    typer.run(main)
