"""Commands, as they are given in a terminal."""

import pytest
import typer

from holmes_fit.cli import app
from holmes_fit.cli import run as run_program


def run(capsys: pytest.CaptureFixture[str], *arguments: object, program: typer.Typer = app) -> tuple[int, str, str]:
    """Run a command, and return its exit code and what it printed."""
    with pytest.raises(SystemExit, match=r"^\d+$") as ended:
        run_program(program, "holmes-fit", [str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(str(ended.value.code)), out, err


class Shell:
    """Where a test gives commands, which end as it says."""

    def __init__(self, capsys: pytest.CaptureFixture[str], program: typer.Typer = app):
        self.capsys, self.program = capsys, program

    def __call__(self, *arguments: object, code: int = 0) -> tuple[str, str]:
        ended, out, err = run(self.capsys, *arguments, program=self.program)
        assert ended == code, err
        return out, err

    def refuses(self, *arguments: object) -> str:
        """Return what is said of bad input, which is all that is printed."""
        out, err = self(*arguments, code=2)
        assert out == ""
        assert "Traceback" not in err
        return err


def raising(error: BaseException):
    """Return what fails, whatever it is called with."""

    def fail(*_: object, **__: object) -> None:
        raise error

    return fail
