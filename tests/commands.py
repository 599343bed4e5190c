"""Commands, as they are given in a terminal."""

import pytest

from holmes_fit.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run a command, and return its exit code and what it printed."""
    with pytest.raises(SystemExit, match=r"^\d+$") as ended:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return int(str(ended.value.code)), out, err


class Shell:
    """Where a test gives commands, which end as it says."""

    def __init__(self, capsys: pytest.CaptureFixture[str]):
        self.capsys = capsys

    def __call__(self, *arguments: object, code: int = 0) -> tuple[str, str]:
        ended, out, err = run(self.capsys, *arguments)
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
