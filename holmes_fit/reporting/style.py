"""One look for every figure: the style sheet, and what each colour and marker means."""

from contextlib import AbstractContextManager

from holmes_fit._support.study_files import study_folder

STYLE = "holmes_fit.mplstyle"

# Flat is grey and HOLMES violet, throughout; they differ in lightness, too.
FLAT, HOLMES = "#6f6f6f", "#7b3fb5"
INK, PALE, RULE = "#222222", "#ececec", "#bdbdbd"
# Two hues of Okabe and Ito's colour-blind safe palette, for an outcome that came and one that did not.
OUTCOME, NO_OUTCOME = "#d55e00", "#56b4e9"

PAGE_WIDTH = 6.9  # between the margins


def use_style() -> AbstractContextManager[None]:
    """Return a context in which matplotlib draws and saves in the project's style."""
    from matplotlib import style

    return style.context(study_folder("reports") / STYLE)
