"""The methods: what they say of a run, that all they cite is there, and that files for a manuscript say the same."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import holmes_fit as hf
from holmes_fit.models.registry import MODELS
from holmes_fit.reporting.manuscript import as_latex, bibliography, in_markdown
from holmes_fit.reporting.references import cited, in_latex, references
from holmes_fit.reporting.run_data import CohortData
from holmes_fit.reporting.sections import methods, methods_words
from holmes_fit.runs.folder import read_run
from tests.sample_run import Sample, make_run
from tests.small_fits import OBSERVER, people, small_preset

# How a text cites: a name, perhaps others, and a year.
CITATION = re.compile(r"[A-Z][\w–-]+(?:, [A-Z][\w–-]+)*(?: et al\.| & [A-Z][\w–-]+)?,? \(?[12]\d{3}")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("methods") / "run", Sample(6, 12, records=False))


@pytest.fixture
def parts(run: Path) -> dict[str, str]:
    return methods.methods_parts(CohortData(read_run(run)))


def every_word() -> str:
    values = [value for name, value in vars(methods_words).items() if name.isupper()]
    texts = [str(text) for value in values for text in (value.values() if isinstance(value, dict) else [value])]
    return " ".join([*texts, *methods.CITING.values(), *(model.meaning for model in MODELS.values())])


def test_everything_that_methods_may_cite_has_an_entry() -> None:
    rest = words = every_word()
    assert len(CITATION.findall(words)) > 20
    for entry in references():
        rest = entry.named.sub("", rest)
    assert CITATION.findall(rest) == []
    assert {entry.key for entry in references()} == {entry.key for entry in cited(words)}


def test_entries_are_read_whole() -> None:
    for entry in references():
        assert entry.fields["author"]
        assert entry.fields["title"].startswith("{")
        assert entry.bibtex.count("\n  ") == len(entry.fields)
        assert "{" not in entry.text
    [found] = [entry.text for entry in references() if entry.key == "piray2019"]
    assert found == (
        "Piray, P., Dezfouli, A., Heskes, T., Frank, M. J. & Daw, N. D. (2019). Hierarchical Bayesian inference for "
        "concurrent model fitting and comparison for group studies. PLoS Computational Biology, 15, e1007043."
    )


def test_latex_cites_and_takes_no_name_for_a_command() -> None:
    assert in_latex("as Rigoux et al. (2014) and others (Stephan et al., 2009; Love, Medin & Gureckis, 2004) do") == (
        r"as \citet{rigoux2014} and others (\citealp{stephan2009}; \citealp{love2004}) do"
    )
    assert in_latex(r"HOLMES (Aitsahalia & Iigaya), “50%_#$”, α − 1 \x {y}^~") == (
        r"HOLMES (\citealp{aitsahalia}), ``50\%\_\#\$'', $\alpha$ $-$ 1 \textbackslash{}x \{y\}"
        r"\textasciicircum{}\textasciitilde{}"
    )


def test_files_for_a_manuscript_say_what_the_page_says(run: Path, parts: dict[str, str], tmp_path: Path) -> None:
    pdf, *written = hf.report(run, tmp_path / "a.pdf", pages=["methods"], methods=tmp_path / "m")
    assert [path.name for path in written] == ["methods.md", "methods.tex", "references.bib"]
    markdown, latex, bibtex = (path.read_text(encoding="utf-8") for path in written)
    assert (markdown, latex, bibtex) == (in_markdown(parts), as_latex(parts), bibliography(parts))
    for title, text in parts.items():
        assert f"## {title}\n\n{text}\n".replace("_", r"\_") in markdown
        assert f"\\subsection*{{{title}}}" in latex
    keys = set(re.findall(r"^@\w+\{(\w+),", bibtex, re.MULTILINE))
    assert keys == set(re.findall(r"\\cite(?:t|alp)\{(\w+)\}", latex))
    assert len(keys) == markdown.partition("## References")[2].count("\n- ")
    assert not re.search(r"(?<!\\)[%&#_]", re.sub(r"^%.*$", "", latex, flags=re.MULTILINE).replace("references", ""))
    assert pdf.read_bytes()


def test_parts_stand_in_the_order_of_the_steps(parts: dict[str, str]) -> None:
    assert [*parts] == [*methods.PARTS]


def test_exclusions_and_trials_are_those_of_the_tables(run: Path) -> None:
    data = CohortData(read_run(run))
    people_out = [(f"x{place}", "min_accuracy", "0.4", "at least 0.6", "left out") for place in range(3)]
    rows = [*people_out, ("s01", "rt", "2 answers outside", "0.1 to 5", "answers count as missed")]
    rows += [("everyone", "rows.keep.phase", "40 of 400 rows, of 6 people", "phase is: main", "rows left out")]
    data.tables["exclusions"] = pd.DataFrame(rows, columns=["subject", "rule", "seen", "allowed", "consequence"])
    data.tables["trials_fitted"] = data["trials_fitted"].assign(
        prediction_error=lambda table: table["prediction_error"].where(table["trial"] > 2),
        restart=lambda table: np.where(table["trial"] > 6, "b", "a"),
    )
    data.__dict__["protocol"] = {
        "title": "T",
        "source": "Someone (2001).",
        "columns": {"restart": ["problem"]},
        "features": {
            "tone": {},
            "color": {"levels": ["red", "blue"], "copies": 2},
            "card": {"levels": ["1", "2"], "anew": "x"},
        },
        "response": {"kind": "rating"},
    }
    said = methods.methods_parts(data)
    trials = data.trials
    assert said["Participants and task"] == (
        "We fitted the ratings of 6 people (1 of them could not be fitted) in the task “T”, "
        f"{trials['choice'].notna().sum()} answers on {len(trials)} trials. The task is from Someone (2001). Rows were "
        "left out by the rule rows.keep.phase: 40 of 400 rows, of 6 people. The rule min_accuracy (at least 0.6) "
        "concerned 3 people: left out. The rule rt (0.1 to 5) concerned 1 person: answers count as missed."
    )
    hidden = int((trials["trial"] <= 2).sum())
    assert said["Trials"].startswith(
        "Learning began anew with each problem (problem), 2 times a person in the median. Cues were coded as features "
        "that are present or absent: tone, color (one for each of red and blue; 2 times), card (one for each of 1 and "
        f"2; assigned anew as they appear). {hidden} trials had no feedback: "
    )
    assert "Ferrari & Cribari-Neto, 2004" in said["Models"]


def test_what_was_used_is_named_with_its_version(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    hf.fit(people(3), ["rescorla_wagner", "bias"], folder, preset=small_preset(tmp_path), observer=OBSERVER, workers=1)
    said = methods.methods_parts(CohortData(read_run(folder)))
    packages = json.loads((folder / "manifest.json").read_text())["identity"]["packages"]
    assert f"numba {packages['numba']} (Lam et al., 2015)" in said["Software and availability"]
    assert "ArviZ" not in said["Software and availability"]  # nothing was pooled
    assert "particle" not in " ".join(said.values())
    assert "Groups" not in said
