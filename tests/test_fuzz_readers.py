"""Spoilt files: whatever the bytes, a clean error or a correct table, never another exception."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holmes_fit._support.errors import InputError
from holmes_fit._support.study_files import shipped_names, study_folder
from holmes_fit.models.registry import MODELS
from holmes_fit.settings.preset import load_preset
from holmes_fit.trials.cohorts import Cohort, build_cohort
from holmes_fit.trials.observations import MISSED
from holmes_fit.trials.protocols.catalogue import protocol_file, protocol_names, read_protocol
from holmes_fit.trials.protocols.generators import generate_trials
from holmes_fit.trials.protocols.kept import kept_form
from holmes_fit.trials.protocols.schema import Protocol
from holmes_fit.trials.reading import read_cohort
from holmes_fit.trials.summaries import cohort_summary, learning_curve
from holmes_fit.trials.writing import write_trials
from tests.fuzzing import EFFORT, assert_clear, mutated, rng_for, tried
from tests.lab_files import LABS

PROTOCOL = """
[columns]
restart = ["session"]
covariates = ["group"]
feedback = "shown"
[features]
x = "binary"
color = { levels = ["red", "green"], copies = 2 }
[choice]
coding = { left = 0, right = 1 }
[exclusions]
rt = { min = 0.1, max = 2.0 }
min_answered = 1
"""

ROWS = "subject,session,trial,x,color,choice,outcome,shown,rt,group\n" + "".join(
    f"{who},{session},{t},{t % 2},{'red' if t % 3 else 'green'},{'left' if t % 2 else 'right'},{t % 2},1,0.{t}5,{who}\n"
    for who in ("p", "é")
    for session in (1, 2)
    for t in range(1, 7)
)


def assert_correct(cohort: Cohort) -> None:
    """Check what every cohort must be, whatever the file was."""
    assert cohort.learners
    assert sum(len(learner.rows) for learner in cohort.learners) == len(cohort.trials)
    for learner in cohort.learners:
        seen = learner.observations
        n = len(learner.rows)
        assert seen.cues.shape == (n, 5)
        assert np.isin(seen.cues, (0, 1)).all()
        assert (seen.cues[:, 1:3].sum(axis=1) == 1).all()
        assert (seen.cues[:, 1:3] == seen.cues[:, 3:5]).all()
        assert np.isin(seen.outcome, (0, 1)).all()
        assert np.isin(learner.choices, (MISSED, 0, 1)).all()
        own = cohort.trials.iloc[learner.rows]
        assert set(own["subject"]) == {learner.subject}
        assert (np.diff(own["trial"]) == 1).all()
        assert own["color"].eq("red").tolist() == (seen.cues[:, 1] == 1).tolist()
    cohort_summary(cohort)
    learning_curve(cohort)


def read_bytes(content: bytes, folder: Path) -> Cohort | None:
    path = folder / "fuzz.csv"
    path.write_bytes(content)
    protocol = read_protocol(PROTOCOL)
    cohort = tried(lambda: read_cohort(path, protocol))
    if isinstance(cohort, InputError):
        assert_clear(cohort)
        return None
    assert_correct(cohort)
    return cohort


def test_the_data_are_fine_before_they_are_spoilt(tmp_path: Path) -> None:
    assert read_bytes(ROWS.encode(), tmp_path) is not None


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_spoilt_csv_files(tmp_path: Path, encoding: str) -> None:
    rng = rng_for(encoding)
    original = ROWS.encode(encoding)
    read = [read_bytes(mutated(original, rng), tmp_path) for _ in range(250 * EFFORT)]
    fine = [cohort for cohort in read if cohort is not None]
    assert 0 < len(fine) < len(read)  # mild changes are read, others are refused
    for cohort in fine:
        write_trials(cohort.trials, cohort.protocol, tmp_path / "again.csv")
        again = read_cohort(tmp_path / "again.csv", cohort.protocol)
        for ours, theirs in zip(cohort.learners, again.learners, strict=True):
            np.testing.assert_array_equal(ours.choices, theirs.choices)
            np.testing.assert_array_equal(ours.observations.cues, theirs.observations.cues)


@pytest.mark.parametrize("name", protocol_names())
def test_spoilt_toml_files(name: str) -> None:
    rng = rng_for(name)
    original = protocol_file(name).read_bytes()
    contents = [mutated(original, rng) for _ in range(120 * EFFORT)]
    read = [tried(lambda content=content: read_protocol(content)) for content in contents]  # type: ignore[misc]
    assert any(isinstance(protocol, InputError) for protocol in read)
    for protocol in read:
        if isinstance(protocol, InputError):
            assert protocol.problems
        else:
            assert protocol.required_columns


@pytest.mark.parametrize("name", shipped_names("fitting"))
def test_spoilt_presets(name: str, tmp_path: Path) -> None:
    rng = rng_for(f"preset {name}")
    original = (study_folder("fitting") / f"{name}.toml").read_bytes()
    path = tmp_path / "spoilt.toml"
    refused = 0
    for _ in range(60 * EFFORT):
        path.write_bytes(mutated(original, rng))
        preset = tried(lambda: load_preset(path))
        if isinstance(preset, InputError):
            assert_clear(preset)
            refused += 1
        else:
            assert all(preset.space(model).free for model in MODELS.values())
    assert 0 < refused < 60 * EFFORT


PARTICIPANTS = "subject,group,age\np,control,31\né,patient,28\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_spoilt_tables_of_participants(encoding: str, tmp_path: Path) -> None:
    rng = rng_for(f"participants {encoding}")
    protocol = read_protocol(PROTOCOL)
    data, people = tmp_path / "data.csv", tmp_path / "participants.csv"
    data.write_text(ROWS.replace(",group\n", "\n").replace(",p\n", "\n").replace(",é\n", "\n"), encoding="utf-8")
    people.write_text(PARTICIPANTS, encoding=encoding)
    original = people.read_bytes()
    assert read_cohort(data, protocol, people).subjects["group"].tolist() == ["control", "patient"]
    refused = 0
    for _ in range(150 * EFFORT):
        people.write_bytes(mutated(original, rng))
        cohort = tried(lambda: read_cohort(data, protocol, people))
        if isinstance(cohort, InputError):
            assert_clear(cohort)
            refused += 1
        else:
            assert_correct(cohort)
            assert cohort.subjects["subject"].tolist() == ["p", "é"]
            assert "group" in cohort.subjects
    assert 0 < refused < 150 * EFFORT


CELL = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["", "0", "1", "1.0", "0,0", "red", "green", " left", "right", "NA", "-1", "é", '"', "\n", "1e5"]),
)


@settings(max_examples=150 * EFFORT, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.lists(CELL, min_size=8, max_size=12), max_size=6), separator=st.sampled_from(",;\t"))
def test_random_cells(tmp_path: Path, rows: list[list[str]], separator: str) -> None:
    header = ROWS.splitlines()[0].replace(",", separator)
    lines = [separator.join(row) for row in rows]
    read_bytes("\n".join([header, *lines]).encode("utf-8", errors="replace"), tmp_path)


@settings(max_examples=100 * EFFORT, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200))
def test_random_bytes(tmp_path: Path, content: bytes) -> None:
    assert read_bytes(content, tmp_path) is None
    protocol = tried(lambda: read_protocol(content))
    assert not isinstance(protocol, InputError) or protocol.problems


TOML_VALUE = st.recursive(
    st.one_of(st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just({}), st.just([])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)
KEYS = ["columns", "features", "choice", "outcome", "correct", "feedback", "exclusions", "generator", "name", "about"]
KEYS += ["rows", "wide", "new_columns"]
# A file that is fine by itself, and keys of which most are: how they are put together is left to chance.
RAW_ROWS = "subject,session,trial,x,color,cue,choice,outcome,rt,rated_1,rated_2\n" + "".join(
    f"{who},{(t + 5) // 6},{t},{t % 2},{'red' if t % 3 else 'green'},{'a' if t % 2 else 'b'}-{t % 3},{t % 2},{t % 2},"
    f"0.{t}5,{t % 2},{t % 3}\n"
    for who in ("p", "é")
    for t in range(1, 13)
)
RULE = st.sampled_from(
    [1, "red", ["p", 2], {"min": 0}, {"max": 1.5}, {"min": 3, "max": 6}, {"empty": True}, {"empty": False}, {}, [""]]
)
RULES = st.dictionaries(st.sampled_from(["trial", "rt", "color", "x", "cue", "other"]), RULE, max_size=2)
NEW_COLUMN = st.sampled_from(
    [
        *({"of": "cue", "separator": "-", "part": 1}, {"of": ["color", "no such column"]}, {"of": ["rt", "trial"]}),
        *(
            {"of": "cue", "characters": [1, 1]},
            {"of": "new", "characters": 2},
            {"file_name": True},
            {"of": "x", "part": 1},
        ),
    ]
)
COLUMNS = st.fixed_dictionaries(
    {},
    optional={
        "trial": st.sampled_from(["trial", ["session", "trial"], ["session", "rt"], ["trial", "trial"]]),
        "order": st.sampled_from(
            ["decimal", "time", "file", {"rt": "decimal"}, {"session": ["1", "2"]}, {"x": "time"}]
        ),
        "choice": st.sampled_from(["choice", "rated_2"]),
        "restart": st.sampled_from([[], ["session"], ["new"]]),
    },
)
FEATURE = st.sampled_from(
    [
        *({"x": "binary"}, {"color": {"levels": ["a", "b"], "anew": "session"}}, {"new": {"levels": ["a", "b"]}}),
        *({"cue": {"levels": [1, 2, 3, 4, 5, 6], "anew": ["subject"]}}, {"new": "binary"}),
    ]
)
RAW = st.fixed_dictionaries(
    {"features": FEATURE, "allow_gaps": st.sampled_from([True, True, False])},
    optional={
        "columns": COLUMNS,
        "rows": st.fixed_dictionaries({}, optional={"keep": RULES, "drop": RULES}),
        "new_columns": st.dictionaries(st.sampled_from(["new", "other"]), NEW_COLUMN, max_size=2),
        "wide": st.sampled_from([{}, {"rated": "rated_{nr}"}, {"new": "rated_{trial}"}, {"new": "rated"}]),
        "choice": st.sampled_from([{"above": 0.5}, {"below": 1, "exactly": 1}, {"missing": ["2"]}]),
        "exclusions": st.sampled_from(
            [{"people": {"p": "why"}}, {"rt": {"unit": "s", "max": 0.2}}, {"people": {"p": "a", "é": "b"}}]
        ),
    },
)


def as_toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{as_toml(key)} = {as_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(c):08x}" for c in value if not 0xD800 <= ord(c) <= 0xDFFF) + '"'
    return str(value).lower()


@settings(max_examples=200 * EFFORT, deadline=None)
@given(content=st.dictionaries(st.sampled_from(KEYS), TOML_VALUE, min_size=1))
def test_any_value_at_any_key(content: dict[str, object]) -> None:
    toml = "\n".join(f"{key} = {as_toml(value)}" for key, value in content.items())
    protocol = tried(lambda: read_protocol(toml))
    if isinstance(protocol, InputError):
        assert all(problem.where and problem.allowed for problem in protocol.problems)
    else:
        assert "features" in content
        assert protocol.required_columns


@settings(max_examples=400 * EFFORT, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=RAW)
def test_any_keys_together_give_a_clear_error_or_what_reads_back_the_same(
    tmp_path: Path, content: dict[str, object]
) -> None:
    toml = "\n".join(f"{key} = {as_toml(value)}" for key, value in content.items())
    protocol = tried(lambda: read_protocol(toml))
    if isinstance(protocol, InputError):
        assert_clear(protocol)
        return
    assert Protocol.model_validate_json(protocol.model_dump_json(exclude_unset=True)) == protocol
    (tmp_path / "fuzz.csv").write_text(RAW_ROWS, encoding="utf-8")
    cohort = tried(lambda: read_cohort(tmp_path / "fuzz.csv", protocol))
    if isinstance(cohort, InputError):
        assert_clear(cohort)
    else:
        assert_kept(cohort, tmp_path)


def assert_kept(cohort: Cohort, folder: Path) -> None:
    """Check that trials read back the same in the form in which runs keep them."""
    write_trials(cohort.trials, cohort.protocol, folder / "kept.csv")
    again = read_cohort(folder / "kept.csv", kept_form(cohort.protocol))
    if cohort.protocol.rearrangements:
        pd.testing.assert_frame_equal(again.trials, cohort.trials)
    for ours, theirs in zip(cohort.learners, again.learners, strict=True):
        assert (ours.subject, ours.restart) == (theirs.subject, theirs.restart)
        np.testing.assert_array_equal(ours.choices, theirs.choices)
        for name in ("cues", "outcome", "feedback"):
            np.testing.assert_array_equal(getattr(ours.observations, name), getattr(theirs.observations, name))


@pytest.mark.parametrize("name", LABS)
def test_spoilt_raw_files(tmp_path: Path, name: str) -> None:
    rng = rng_for(f"raw {name}")
    lab = LABS[name]
    protocol = read_protocol(lab.protocol)
    paths = lab.write(tmp_path)
    original = paths[0].read_bytes()
    fine = 0
    for _ in range(60 * EFFORT):
        paths[0].write_bytes(mutated(original, rng, most=1))
        cohort = tried(lambda: read_cohort(paths, protocol))
        if isinstance(cohort, InputError):
            assert_clear(cohort)
        else:
            fine += 1
            assert_kept(cohort, tmp_path)
    assert 0 < fine < 60 * EFFORT


@pytest.mark.parametrize("name", LABS)
def test_spoilt_raw_protocols(tmp_path: Path, name: str) -> None:
    rng = rng_for(f"raw protocol {name}")
    lab = LABS[name]
    paths = lab.write(tmp_path)
    refused = 0
    for _ in range(60 * EFFORT):
        content = mutated(lab.protocol.encode(), rng, most=1)
        protocol = tried(lambda content=content: read_protocol(content))  # type: ignore[misc]
        if isinstance(protocol, InputError):
            assert protocol.problems
            refused += 1
            continue
        cohort = tried(lambda protocol=protocol: read_cohort(paths, protocol))  # type: ignore[misc]
        if isinstance(cohort, InputError):
            assert_clear(cohort)
        else:
            assert_kept(cohort, tmp_path)
    assert 0 < refused < 60 * EFFORT


# Control characters other than these make a file look binary, which it then is.
CHARACTERS = st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\r\t")
NAME = st.text(CHARACTERS, min_size=1, max_size=300).filter(str.strip)


@settings(max_examples=60 * EFFORT, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(NAME, min_size=1, max_size=4, unique=True), seed=st.integers(0, 2**32 - 1))
def test_any_name_of_a_person_survives_a_round_trip(tmp_path: Path, names: list[str], seed: int) -> None:
    protocol = read_protocol(protocol_file("conditioning").read_bytes())
    people = [
        generate_trials(protocol, np.random.default_rng(seed)).assign(subject=name, choice=seed % 2) for name in names
    ]
    made = build_cohort(pd.concat(people, ignore_index=True), protocol)
    write_trials(made.trials, protocol, tmp_path / "names.csv")
    back = read_cohort(tmp_path / "names.csv", protocol)
    assert [learner.subject for learner in back.learners] == names
    assert back.trials["choice"].tolist() == made.trials["choice"].tolist()
