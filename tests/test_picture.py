"""The picture of a design: what is in it, for every protocol that can be drawn."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from holmes_fit._support.errors import InputError
from holmes_fit.reporting.figures.design import draw_design, save_design
from holmes_fit.trials.protocols.catalogue import load_protocol, protocol_names, read_protocol
from holmes_fit.trials.protocols.generators import generate_trials
from holmes_fit.trials.protocols.schema import Protocol


def drawn(protocol: Protocol) -> Axes:
    ax = Figure(figsize=(8, 4)).add_subplot()
    assert draw_design(ax, protocol, generate_trials(protocol, np.random.default_rng(0))) is ax
    return ax


@pytest.mark.parametrize("name", protocol_names())
def test_every_cue_outcome_and_feedback_have_a_line(name: str) -> None:
    protocol = load_protocol(name)
    ax = drawn(protocol)
    cues = sum(1 if feature.levels is None else len(feature.levels) for feature in protocol.features.values())
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert len(labels) == len(ax.images) == cues + 2
    assert labels[-2:] == ["outcome", "feedback"]


@pytest.mark.parametrize("name", protocol_names())
def test_nothing_is_too_small_to_read(name: str) -> None:
    texts = [text for text in drawn(load_protocol(name)).findobj(Text) if text.get_text()]
    assert texts
    assert min(text.get_fontsize() for text in texts) >= 7


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("conditioning", ["acquisition", "extinction"]),
        ("shape_color", ["training", "test"]),
        ("reversal", ["block 1", "block 2", "block 3", "block 4"]),
        ("compositional_2", [""]),
    ],
)
def test_parts_of_the_session_are_named(name: str, parts: list[str]) -> None:
    assert [text.get_text() for text in drawn(load_protocol(name)).texts] == parts


def test_every_restart_is_marked() -> None:
    names = [text.get_text() for text in drawn(load_protocol("shepard")).texts]
    assert [name.split(",")[0] for name in names] == [f"problem {number}" for number in range(1, 7)]
    assert {name.split(", ")[1] for name in names} == {f"type {kind}" for kind in ("I", "II", "III", "IV", "V", "VI")}


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
def test_pictures_are_written_in_the_format_of_their_name(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"design{suffix}"
    save_design(load_protocol("conditioning"), path)
    start = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}[suffix]
    assert path.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [path]


def test_odd_names_are_drawn_as_they_are(tmp_path: Path) -> None:
    names = ["$a_b$", "🙂", "x" * 300]
    features = "\n".join(f"{name!r} = 'binary'" for name in names)
    generator = f"kind = 'cue_probabilities'\ncues = {names}\npatterns = {{ 100 = [1, 1], 011 = [1, 0] }}"
    protocol = read_protocol(f"title = '$x^$'\n[features]\n{features}\n[generator]\n{generator}")
    save_design(protocol, tmp_path / "odd.png")
    labels = [label.get_text() for label in drawn(protocol).get_yticklabels()]
    assert labels[:2] == names[:2]
    assert len(labels[2]) < 30


def test_a_protocol_without_generator_cannot_be_drawn(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no generator"):
        save_design(read_protocol('[features]\nx = "binary"'), tmp_path / "x.png")
    assert not list(tmp_path.iterdir())
