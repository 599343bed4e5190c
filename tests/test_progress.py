"""How progress is shown: bars in terminals, lines in notebooks and logs, nothing where nobody looks."""

import errno
import sys
from types import ModuleType

import pytest

from holmes_fit._support import progress
from holmes_fit._support.progress import ProgressLines, duration, progress_bar, progress_bars, watched, watched_steps
from holmes_fit.fitting.cohort import fit
from tests.small_fits import people


def sit_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)


def sit_at_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "less than a minute"),
        (44, "less than a minute"),
        (50, "about 1 minute"),
        (360, "about 6 minutes"),
        (5399, "about 90 minutes"),
        (5401, "about 2 hours"),
        (47 * 3600, "about 47 hours"),
        (72 * 3600, "about 3 days"),
    ],
)
def test_durations_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words


class Lost:
    """What a closed terminal is to those who write to it."""

    def isatty(self) -> bool:
        return self.terminal

    def write(self, *text: str) -> int:
        raise OSError(errno.EIO, "Input/output error")

    flush = fileno = write

    def __init__(self, terminal: bool):
        self.terminal, self.encoding = terminal, "utf-8"


@pytest.mark.parametrize("terminal", [False, True])
def test_a_terminal_that_is_closed_stops_no_work(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Lost(terminal))
    with progress_bar("fitting", quiet=False, lines=True) as told:
        assert told is not None
        for done in range(3):
            told(done, 2)
    with progress_bars(quiet=False) as begin:
        begin("pooling")


def test_lines_come_with_every_tenth_and_every_half_minute(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    lines = ProgressLines("fitting")
    for done in range(100, 201):
        lines(done, 200)
        now += 1.0
    now += 40
    printed = capsys.readouterr().err.splitlines()
    assert printed[0] == "fitting: 100 of 200"
    assert [line.split()[1] for line in printed] == ["100", "120", "140", "160", "180", "200"]
    assert printed[1] == "fitting: 120 of 200, about 1 minute left"
    slow = ProgressLines("fitting")
    for done in range(5):
        slow(done, 1000)
        now += 31.0
    assert len(capsys.readouterr().err.splitlines()) == 5


def test_commands_without_a_terminal_say_what_they_begin(capsys: pytest.CaptureFixture[str]) -> None:
    for quiet in (True, False):
        with progress_bars(quiet=quiet) as begin:
            assert begin("mixing") is None
    assert capsys.readouterr().err == "mixing ...\n"


def test_a_function_of_the_user_is_called_as_it_is() -> None:
    with watched(print, "fitting") as told:
        assert told is print
    with watched_steps(lambda label: None) as begin:
        assert begin("pooling") is None


@pytest.mark.parametrize("wanted", [True, False])
def test_python_shows_nothing_where_nobody_looks(wanted: bool, capsys: pytest.CaptureFixture[str]) -> None:
    with watched(wanted, "fitting") as told:
        assert told is None
    with watched_steps(wanted) as begin:
        assert begin("pooling") is None
    assert capsys.readouterr().err == ""


def test_python_shows_bars_in_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    sit_at_a_terminal(monkeypatch)
    with watched(True, "fitting") as told:
        assert told is not None
        told(3, 7)
    with watched_steps(True) as begin:
        shown = begin("pooling")
        assert shown is not None
        shown(1, 2)
    text = capsys.readouterr().err
    assert "fitting" in text
    assert "3/7" in text
    assert "pooling" in text
    with watched(False, "fitting") as told:
        assert told is None


def test_fits_say_in_a_notebook_how_many_are_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sit_at_a_notebook(monkeypatch)
    fit(people(2), ["bias"], preset="quick", workers=1)
    assert capsys.readouterr().err.splitlines()[::2] == ["fitting: 0 of 2", "fitting: 2 of 2"]
    fit(people(2), ["bias"], preset="quick", workers=1, progress=False)
    assert capsys.readouterr().err == ""


def test_bars_have_no_colours_where_none_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert not progress._display().console.no_color
    monkeypatch.setenv("NO_COLOR", "1")
    assert progress._display().console.no_color
