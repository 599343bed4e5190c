"""The examples in the docstrings of the public functions are run, in a folder with the files that they speak of."""

import doctest
import inspect
import io
from pathlib import Path

import matplotlib as mpl
import pytest

import holmes_fit as hf
from tests.small_recovery import with_short_searches, without_figures
from tests.small_study import draw_groups_from_their_priors, fit_pilot, lay_out

# What later examples read, earlier ones have written.
ORDER = (
    *(
        "load_model",
        "protocol_names",
        "load_protocol",
        "import_files",
        "draft_protocol",
        "read_cohort",
        "example",
        "simulate",
    ),
    *("trace", "trace_cohort", "Observer", "fit", "read_fits", "pool", "compare", "recover", "read_recovery"),
    *("plan", "plan_designs", "read_plan", "draw", "report"),
)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_every_public_function_has_an_example() -> None:
    functions = {name for name in hf.__all__ if inspect.isfunction(getattr(hf, name))}
    assert functions <= set(ORDER)
    for name in ORDER:
        assert "\n>>> import holmes_fit as hf\n" in (inspect.getdoc(getattr(hf, name)) or ""), name


def test_the_site_has_every_public_name() -> None:
    api = (Path(__file__).parent.parent / "docs" / "api.md").read_text(encoding="utf-8")
    for name, home in hf._HOME.items():
        assert f"::: holmes_fit.{home}.{name}\n" in api or f"`hf.{name}`" in api, name


@pytest.mark.slow
def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit_pilot(lay_out(tmp_path))
    draw_groups_from_their_priors(monkeypatch)
    without_figures(monkeypatch)
    with_short_searches(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(mpl.rcParams, "backend", "agg")
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    said = io.StringIO()
    for name in ORDER:
        text = inspect.getdoc(getattr(hf, name)) or ""
        example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
        runner.run(example, out=said.write)
    assert runner.summarize(verbose=False).failed == 0, said.getvalue()
