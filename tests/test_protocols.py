"""Protocols: what a TOML file says, and what is said about a TOML file that is wrong."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from holmes_fit._support import study_files
from holmes_fit._support.errors import HolmesFitError, InputError
from holmes_fit.trials.protocols.catalogue import load_protocol, protocol_file, protocol_names, read_protocol

SHIPPED = (
    "compositional_2",
    "compositional_3",
    "compositional_4",
    "compositional_5",
    "conditioning",
    "renewal",
    "reversal",
    "shape_color",
    "shape_color_long",
    "shepard",
    "weather_prediction",
)

FULL = """
title = "A task"
length_normalized = true
allow_gaps = true

[columns]
subject = "id"
trial = "nr"
choice = "key"
correct = "hit"
feedback = "shown"
covariates = ["group"]
optional_covariates = ["age"]
restart = ["session", "problem"]

[features]
tone = "binary"
light = { coding = { off = 0, on = 1 } }
shape = { levels = ["circle", "square", 3], copies = 2 }

[choice]
missing = ["timeout"]
[choice.by]
column = "key_map"
[choice.by.codings.A]
f = 0
j = 1
[choice.by.codings.B]
f = 1
j = 0

[correct]
coding = { no = 0, yes = 1 }

[exclusions]
rt = { column = "latency", min = 0.2, max = 5 }
min_answered = 20
min_accuracy = 0.55
"""


def test_these_protocols_are_shipped() -> None:
    assert protocol_names() == SHIPPED


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_protocol_explains_itself_and_can_be_simulated(name: str) -> None:
    protocol = load_protocol(name)
    assert protocol.name == name
    assert protocol.title
    assert protocol.about
    assert protocol.source
    assert protocol.generator is not None


@pytest.mark.parametrize(
    ("name", "cues"),
    [
        *(("compositional_2", 6), ("compositional_3", 7), ("compositional_4", 8), ("compositional_5", 9)),
        *(("shape_color", 22), ("shape_color_long", 22), ("conditioning", 2), ("weather_prediction", 4)),
    ],
)
def test_the_number_of_cues_is_that_of_the_paper(name: str, cues: int) -> None:
    assert sum(feature.width for feature in load_protocol(name).features.values()) == cues


def test_only_shape_and_color_is_length_normalized() -> None:
    assert [name for name in SHIPPED if load_protocol(name).length_normalized] == ["shape_color", "shape_color_long"]


def test_everything_that_a_protocol_can_state_is_read() -> None:
    protocol = read_protocol(FULL, name="mine")
    assert protocol.name == "mine"
    assert protocol.columns.subject == "id"
    assert protocol.columns.outcome is None
    assert protocol.columns.restart == ("session", "problem")
    assert protocol.choice.tables == {"A": {"f": 0, "j": 1}, "B": {"f": 1, "j": 0}}
    assert protocol.choice.missing == ("timeout",)
    assert protocol.features["light"].bits == {"off": (0,), "on": (1,)}
    assert protocol.features["shape"].bits["square"] == (0, 1, 0, 0, 1, 0)
    assert list(protocol.features["shape"].bits) == ["circle", "square", "3"]
    assert protocol.exclusions.rt is not None
    assert protocol.exclusions.rt.column == "latency"
    assert protocol.required_columns == (
        *("id", "session", "problem", "nr", "tone", "light", "shape"),
        *("key", "hit", "shown", "key_map", "group", "latency"),
    )
    assert [protocol.tidy_name(name) for name in ("id", "nr", "key", "shown", "tone")] == [
        *("subject", "trial", "choice", "feedback", "tone")
    ]


def test_a_protocol_needs_only_its_features() -> None:
    protocol = read_protocol('[features]\nx = "binary"')
    assert protocol.required_columns == ("subject", "trial", "x", "choice", "outcome")
    assert protocol.choice.tables == {"": {"0": 0, "1": 1}}


def test_a_protocol_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        load_protocol("shepard").title = "mine"  # type: ignore[misc]


def test_a_path_is_read_like_a_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    shutil.copy(protocol_file("shepard"), path)
    assert load_protocol(path).name == "mine"
    assert load_protocol(str(path)).features == load_protocol("shepard").features
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # as some editors save it
    assert load_protocol(path).name == "mine"


@pytest.mark.parametrize("name", ["wether_prediction", "", "../x", "a" * 5000, "\0", "no/such.toml"])
def test_an_unknown_protocol_lists_the_known_ones(name: str) -> None:
    with pytest.raises(InputError, match=r"compositional_2, compositional_3.*weather_prediction"):
        load_protocol(name)


def test_the_nearest_name_is_suggested() -> None:
    for name in ("wether_prediction", "WEATHER_PREDICTION"):
        with pytest.raises(InputError, match="Did you mean 'weather_prediction'"):
            load_protocol(name)


@pytest.mark.parametrize("given", [None, 3, {"title": "a dict"}])
def test_what_is_no_name_and_no_path_is_no_protocol(given: Any) -> None:
    with pytest.raises(InputError, match=r"protocol: saw .*; allowed: the path of a TOML file, or one of"):
        load_protocol(given)


def test_a_folder_is_no_protocol(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the path of a TOML file"):
        load_protocol(tmp_path)


BAD = {
    "no features": ("", "key features: saw nothing; allowed: a value"),
    "features of a wrong type": ("features = 3", "key features: saw 3"),
    "unknown key": ("lenght_normalized = true\n[features]", "lenght_normalized.*Did you mean 'length_normalized'"),
    "unknown table": ("[feature]\n[features]", "key feature:.*Did you mean 'features'"),
    "unknown column role": ("[columns]\nsubjet = 'a'\n[features]", "key columns.subjet.*Did you mean 'subject'"),
    "unknown key of a feature": ("[features]\nx = {levls = ['a', 'b']}", "key features.x.levls.*'levels'"),
    "unknown key of a nested table": ("[features]\n[exclusions.rt]\nmaxx = 3", "key exclusions.rt.maxx.*'max'"),
    "unknown word for a feature": ("[features]\nx = 'binery'", "key features.x: saw 'binery'.*Did you mean 'binary'"),
    "wrong type": ("allow_gaps = 'yes'\n[features]", "key allow_gaps: saw 'yes'; allowed: a valid boolean"),
    "number as text": ("[features]\nx = {copies = '2'}", "key features.x.copies: saw '2'; allowed: a valid integer"),
    "no copies": ("[features]\nx = {copies = 0}", "key features.x.copies: saw 0"),
    "one level": ("[features]\nx = {levels = ['a']}", "key features.x.levels"),
    "level twice": ("[features]\nx = {levels = ['a', 'a']}", "each name once, and 'a' repeats"),
    "levels and coding": ("[features]\nx = {levels = ['a', 'b'], coding = {a = 0, b = 1}}", "either levels"),
    "one-sided coding": ("[features]\n[choice]\ncoding = {a = 0, b = 0}", "key choice.coding: saw .*codes 0 and 1"),
    "code 2": ("[features]\n[choice]\ncoding = {a = 0, b = 2}", "key choice.coding.b: saw 2"),
    "coding and by": (
        "[features]\n[choice]\ncoding = {a=0,b=1}\nby = {column='k', codings={A={a=0,b=1}}}",
        "either coding or by",
    ),
    "missing that is coded": ("[features]\n[choice]\nmissing = ['1']", "key choice.missing.*no code"),
    "outcome and correct": ("[columns]\noutcome='o'\ncorrect='c'\n[features]", "either outcome or correct"),
    "coding of no column": ("[features]\n[feedback]", "key feedback: .*columns.feedback is named"),
    "outcome coding with correct": (
        "[columns]\ncorrect='c'\n[features]\n[outcome]",
        "key outcome: .*The outcome follows from choice and correct",
    ),
    "column used twice": ("[columns]\nchoice='x'\n[features]\nx='binary'", "key features.x: .*columns.choice has it"),
    "reserved name": ("[columns]\nchoice='key'\ncovariates=['choice']\n[features]", "key columns.covariates.*another"),
    "reserved rt": ("[features]\n[exclusions]\nrt = {column = 'restart'}", "key exclusions.rt.column.*another name"),
    "empty window": ("[features]\n[exclusions]\nrt = {min = 3, max = 2}", "key exclusions.rt.max: saw 2.0"),
    "accuracy above 1": ("[features]\n[exclusions]\nmin_accuracy = 55", "key exclusions.min_accuracy: saw 55"),
    "not finite": ("[features]\n[exclusions]\nrt = {max = inf}", "key exclusions.rt.max: saw inf"),
    "unknown generator": ("[features]\n[generator]\nkind = 'shepherd'", "generator.kind.*Did you mean 'shepard'"),
    "no kind": ("[features]\n[generator]\nlevels = 3", "key generator.kind: saw nothing"),
    "unknown parameter": (
        "[features]\n[generator]\nkind = 'compositional'\nlevels = 3\nnoize = 0.1",
        "key generator.noize: saw 0.1.*Did you mean 'noise'",
    ),
    "a feature that is not made": (
        "[features]\nlevel_4 = 'binary'\n[generator]\nkind = 'compositional'\nlevels = 3",
        "key features.level_4: .*Did you mean 'level_3'",
    ),
    "a level that is not made": (
        "[features]\ncue = {levels = ['a', 'b']}\n[generator]\nkind = 'conditioning'\ncues = ['a', 'c']",
        "key features.cue: .*the values that the generator makes: a, c",
    ),
    "problems without restart": (
        "[features]\n[generator]\nkind = 'shepard'\ntypes = ['I']\n"
        "[generator.dimensions]\na = [0, 1]\nb = [0, 1]\nc = [0, 1]",
        "key columns.restart: .*'problem' among them",
    ),
    "a type that does not exist": (
        "[features]\n[generator]\nkind = 'shepard'\ntypes = ['VII']\n"
        "[generator.dimensions]\na = [0, 1]\nb = [0, 1]\nc = [0, 1]",
        "key generator.types.0: saw 'VII'",
    ),
    "a pattern of a wrong length": (
        "[features]\n[generator]\nkind = 'cue_probabilities'\ncues = ['a']\npatterns = {01 = [1, 1]}",
        "key generator.patterns.01: .*1 digits",
    ),
    "all colours at test": (
        "[features]\n[generator]\nkind = 'shape_color'\nshapes = ['a', 'b']\ncolors = ['c', 'd']\n"
        "training_repetitions = 1\ntest_repetitions = 1",
        "key generator.test_colors: saw 2",
    ),
    "a reversal without a better option": (
        "[features]\n[generator]\nkind = 'reversal'\ncues = {a = 0, b = 1}\nblock_trials = [9]\nprobability = 0.5",
        "key generator.probability: saw 0.5; allowed: more than 0.5",
    ),
    "codings of simulated subjects": (
        "[features]\ncue = {levels = ['a', 'b']}\n[choice.by]\ncolumn = 'subject'\n[choice.by.codings]\n"
        "S1 = {l = 0, r = 1}\n[generator]\nkind = 'conditioning'\ncues = ['a', 'b']",
        "key choice.by.column: .*other than subject",
    ),
    "no TOML": ("[features]\nx = = 1", r"mine.toml: saw Invalid value \(at line 2, column 5\); allowed: TOML"),
    "deep nesting": ("a = " + "[" * 100_000, "mine.toml: saw"),
    "a huge number": ("a = " + "9" * 10_000, "mine.toml: saw"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD.keys())
def test_what_is_wrong_is_said_with_file_key_value_and_what_is_allowed(content: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_protocol(content, file="mine.toml")
    assert all(problem.where.startswith("mine.toml") for problem in caught.value.problems)
    assert all(problem.allowed for problem in caught.value.problems)


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(InputError, match=r"mine\.toml: saw bytes that are no text, at position 3"):
        read_protocol(b"a =\xff", file="mine.toml")


def test_all_problems_come_at_once() -> None:
    content = "lenght = 1\nallow_gaps = 1\n[columns]\ntrail = 'n'\n[features]\nx = 'b'\ny = {copies = -1}"
    with pytest.raises(InputError, match="lenght") as caught:
        read_protocol(content, file="mine.toml")
    places = {problem.where.removeprefix("mine.toml, key ") for problem in caught.value.problems}
    assert places == {"lenght", "allow_gaps", "columns.trail", "features.x", "features.y.copies"}


def test_the_shipped_files_are_found_inside_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "holmes_fit" / "study" / "protocols"
    inside.mkdir(parents=True)
    shutil.copy(protocol_file("shepard"), inside / "only.toml")
    monkeypatch.setattr(study_files, "PACKAGE", tmp_path / "holmes_fit")
    assert protocol_names() == ("only",)
    with pytest.raises(HolmesFitError, match="'reports' is missing from this installation"):
        study_files.study_folder("reports")


def test_reading_protocols_does_not_load_pandas() -> None:
    code = "import sys, holmes_fit as hf; hf.load_protocol('shepard'); sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
