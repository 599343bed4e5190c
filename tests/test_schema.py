"""The schema of result tables: what is written follows it, and what is read back is what was written."""

from pathlib import Path

import pandas as pd
import pytest

from holmes_fit.runs.folder import open_run, read_run
from holmes_fit.runs.schema import frame, of, ordered, tables
from tests.sample_run import make_run


def test_every_table_says_what_it_is() -> None:
    for file, table in tables().items():
        assert table.file == file
        assert table.about
        assert not table.about.endswith(".")
        assert set(table.each) <= set(table.columns)
        assert len(set(table.columns)) == len(table.columns)
        assert all(field.kind in ("text", "whole", "number", "truth") and field.meaning for field in table.fields)
        assert set(table.each) & set(table.text)


def test_columns_are_written_in_their_order_and_further_ones_behind() -> None:
    mixed = pd.DataFrame({"rate": [0.1], "start": [1], "goal": ["ml"], "value": [-3.0], "model": "m", "subject": "s"})
    assert list(ordered("search.csv", mixed).columns) == ["subject", "model", "goal", "start", "value", "rate"]
    assert ordered("trials.csv", mixed) is mixed  # the people's own data


@pytest.mark.parametrize(
    ("changed", "seen"),
    [
        ({"more": [1]}, r"has others \['more'\]"),
        ({"model": None}, r"lacks columns \['model'\]"),
        ({"mean": ["high"]}, "something else than numbers in its column mean"),
    ],
)
def test_what_is_no_such_table_is_not_written(changed: dict[str, object], seen: str, tmp_path: Path) -> None:
    table = frame("pooled.csv", [("001", "holmes", "alpha", *[0.5] * 7)])
    for name, value in changed.items():
        table = table.drop(columns=name) if value is None else table.assign(**{name: value})
    with open_run(tmp_path / "run", identity={}, about={}, keys=[]) as run:
        with pytest.raises(ValueError, match=seen):
            run.write_table("pooled.csv", table)
        assert not run.path("pooled.csv").exists()


def test_texts_that_look_like_numbers_stay_texts_and_missing_ones_are_empty(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", identity={}, about={}, keys=[]) as run:
        run.write_table("failures.csv", frame("failures.csv", [("001", "NA", ""), ("1e3", "holmes", None)]))
        found = run.read_table("failures.csv")
    assert found.values.tolist() == [["001", "NA", ""], ["1e3", "holmes", ""]]


def test_the_same_name_can_mean_two_things() -> None:
    assert "truth" in of("confusion.csv").text
    assert "truth" not in of("recovery_people.csv").text
    assert "level" in of("sbc.csv").text
    assert "level" not in of("trees.csv").text


def test_the_invented_run_follows_the_schema(tmp_path: Path) -> None:
    root = make_run(tmp_path / "run")
    for file in tables():
        path = next((folder / file for folder in (root, root / "recovery") if (folder / file).exists()), None)
        if path is not None:
            table = read_run(root).read_table(str(path.relative_to(root)))
            assert list(ordered(file, table).columns) == list(table.columns), file
