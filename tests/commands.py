"""Commands, as they are given in a terminal."""

from __future__ import annotations

import pytest

from holmes_fit.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run a command, and return its exit code and what it printed."""
    with pytest.raises(SystemExit, match=r"^\d+$") as ended:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(str(ended.value.code)), out, err


def raising(error: BaseException):
    """Return what fails, whatever it is called with."""

    def fail(*_: object, **__: object) -> None:
        raise error

    return fail
