"""What CONTRIBUTING.md shows can be done in just these lines: a model, a response, a protocol and a page are added."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from holmes_fit.models.registry import MODELS
from holmes_fit.models.responses.registry import RESPONSES
from holmes_fit.reporting.registry import PAGES
from holmes_fit.trials.protocols.catalogue import read_protocol
from holmes_fit.trials.reading import read_cohort
from tests.documents import ROOT, blocks, contracts, picture_of_rooms, run_python
from tests.sample_run import Sample, make_run

GUIDE = "CONTRIBUTING.md"
SMALL = Sample(4, 6, models=("flat", "holmes"), pooled=False, compared=False, recovered=False, records=False)


@pytest.fixture(autouse=True)
def afterwards_as_before() -> Iterator[None]:
    """What an example registers is forgotten."""
    registries: tuple[dict[str, Any], ...] = (MODELS, PAGES, RESPONSES)
    kept = [(registry, dict(registry)) for registry in registries]
    yield
    for registry, before in kept:
        registry.clear()
        registry.update(before)


def run_block(containing: str) -> dict[str, Any]:
    (block,) = [block for block in blocks(GUIDE, "python") if containing in block]
    return run_python(block)


def test_all_python_is_tried_here() -> None:
    assert len(blocks(GUIDE, "python")) == 5


def test_a_variant_is_one_entry() -> None:
    names = run_block("LatentCauseModel(")
    assert names["p_hat"].shape == (8, 20)
    assert names["p_hat"][:, -2].mean() > 0.7


def test_a_model_of_another_kind_is_simulated_and_fitted() -> None:
    fits = run_block("class BaseRate")["fits"]
    free = fits.parameters[fits.parameters["standing"] == "free"]
    assert list(free["parameter"]) == ["learning_rate", "beta", "lapse"]
    assert fits.failures.empty


def test_a_response_of_its_own_is_simulated_and_fitted() -> None:
    names = run_block("class Arousal")
    fits, density = names["fits"], names["log_density"]
    assert fits.failures.empty
    own = fits.parameters.set_index("parameter").loc["noise"]
    assert own["lower"] < 0.1 < own["upper"]
    rule = np.array([0.2, 0.1, 0.7])
    below, here, above = (density(0.5, 0.4 + step, rule) for step in (-1e-4, 0.0, 1e-4))
    assert here[1] == pytest.approx((above[0] - below[0]) / 2e-4, abs=1e-6)
    assert here[2] == pytest.approx((above[1] - below[1]) / 2e-4, abs=1e-6)


def test_a_model_that_answers_by_a_rule_of_its_own_is_simulated_and_fitted() -> None:
    fits = run_block("class Greedy")["greedy"]
    assert fits.failures.empty
    free = fits.parameters[(fits.parameters["standing"] == "free") & (fits.parameters["model"] == "greedy")]
    assert list(free["parameter"]) == ["learning_rate", "lapse"]
    evidence = fits.models.set_index("model")["log_evidence"]
    assert evidence["greedy"] > evidence["rescorla_wagner"]


def test_a_protocol_reads_its_file(tmp_path: Path) -> None:
    (toml,) = blocks(GUIDE, "toml")
    (rows,) = blocks(GUIDE, "csv")
    (tmp_path / "food.csv").write_text(rows)
    cohort = read_cohort(tmp_path / "food.csv", read_protocol(toml))
    assert cohort.trials["choice"].tolist()[:2] == [1, 0]
    assert cohort.trials["choice"].isna().tolist() == [False, False, True]
    assert cohort.learners[0].observations.cues.tolist() == [[1, 0], [0, 1], [1, 1]]


def test_a_page_is_added_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(tmp_path / "runs" / "pilot", SMALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(mpl.rcParams, "backend", "agg")
    run_block("PAGES[")
    assert (tmp_path / "hits.pdf").read_bytes().startswith(b"%PDF")


def test_the_map_is_that_of_the_contract() -> None:
    """A line is a layer, with its rooms; some of them know each other."""
    layers = contracts()["rooms"]["layers"]
    wanted = [(re.findall(r"\w+", layer), ":" in layer) for layer in layers]
    lines = (ROOT / GUIDE).read_text(encoding="utf-8").splitlines()
    rows = [line.split("|")[1:4] for line in lines if line.startswith("| `")]
    assert [(re.findall(r"`(\w+)`", rooms), "each other" in imports) for rooms, _, imports in rows] == wanted


def test_the_picture_is_that_of_the_contracts() -> None:
    assert blocks(GUIDE, "mermaid") == [picture_of_rooms()]
