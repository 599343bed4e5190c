"""The program ``holmes-fit``, also as ``python -m holmes_fit``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still loading ends it as well, without a traceback."""
    try:
        from holmes_fit.cli import main as run
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
