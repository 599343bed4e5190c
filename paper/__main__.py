"""``python -m paper``: the paper's simulations, each result beside the published one.

Every study gives CSV tables (single runs, summary, comparison) and figures (PNG, PDF). All of them together are run
both as written and as published, and one PDF reports everything; --as-published then says whose figures it shows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from holmes_fit._support.ctrl_c import is_ctrl_c
from holmes_fit._support.errors import HolmesFitError, InputError, plain
from holmes_fit._support.progress import progress_bar
from paper.run import REPORT, keep, replicate
from paper.studies import STUDIES

FINE, FAILED, BAD_INPUT, STOPPED = 0, 1, 2, 130  # exit codes
OUT = Path("runs/replication")


def parser() -> argparse.ArgumentParser:
    """Return what reads the arguments."""
    made = argparse.ArgumentParser("python -m paper", description=__doc__)
    made.add_argument("which", nargs="*", metavar="STUDY", help=f"some of {', '.join(STUDIES)}; all by default")
    made.add_argument("--as-published", action="store_true", help="run HOLMES as its authors' public code does")
    made.add_argument("--quick", action="store_true", help="run about a tenth")
    made.add_argument("--out", type=Path, default=OUT, metavar="DIR", help="a new folder, or one to go on in")
    made.add_argument("--keep", type=Path, metavar="DIR", help="a folder for what is small of a whole replication")
    made.add_argument("--workers", type=int, metavar="N", help="processes; all cores by default")
    made.add_argument("--quiet", "-q", action="store_true", help="print nothing but problems")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Replicate what is asked for, and return the exit code."""
    reader = parser()
    given = reader.parse_args(arguments)
    if given.keep is not None and set(given.which) not in (set(), set(STUDIES)):
        reader.error("--keep is for a whole replication: name no study")
    how = {"quick": given.quick, "as_published": given.as_published, "workers": given.workers}
    try:
        with progress_bar("replicating", given.quiet) as progress:
            found = replicate(given.which, given.out, **how, progress=progress)
        kept = keep(found, given.keep) if given.keep is not None else []
    except InputError as error:
        return _said("\n".join(plain(str(problem), 5000) for problem in error.problems), BAD_INPUT)
    except (Exception, KeyboardInterrupt) as error:
        if is_ctrl_c(error):
            where = plain(str(given.out), 300)
            return _said(f"Stopped. What is done is safe in {where}; the same command goes on from there.", STOPPED)
        if not isinstance(error, (HolmesFitError, OSError)):
            raise
        return _said(plain(str(error), 5000), FAILED)
    if not given.quiet:
        print(*(result.in_one_line() for result in found.results), sep="\n")
        for path in (path for path in [*found.files, *kept] if path.name in ("comparison.csv", REPORT)):
            print(f"wrote {plain(str(path), 300)}", file=sys.stderr)
    return FINE


def _said(text: str, code: int) -> int:
    print(text, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
