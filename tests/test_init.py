"""A new study folder: what it holds works as it is."""

from pathlib import Path

import pytest

from holmes_fit._support.errors import InputError
from holmes_fit.settings.preset import load_preset
from holmes_fit.trials.new_study import EXAMPLE, PROTOCOL, create_study
from holmes_fit.trials.protocols.catalogue import load_protocol
from holmes_fit.trials.protocols.schema import Columns, Exclusions
from holmes_fit.trials.reading import check_data
from tests.commands import Shell


def test_the_example_passes_the_check_of_the_protocol(
    tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shell("init", "study")
    monkeypatch.chdir("study")
    shell("check", EXAMPLE, "--protocol", PROTOCOL)
    shell("simulate", "--protocol", PROTOCOL, "--model", "bias", "--subjects", "2", "--out", "simulated.csv")
    shell("check", "simulated.csv", "--protocol", PROTOCOL)


def test_the_example_shows_what_can_be_missing(tmp_path: Path) -> None:
    create_study(tmp_path)
    check = check_data(tmp_path / EXAMPLE, tmp_path / PROTOCOL)
    assert check.cohort is not None
    assert check.cohort.trials["choice"].isna().sum() == 2
    assert (~check.cohort.trials["feedback"]).sum() == 1
    assert check.cohort.exclusions["rule"].tolist() == ["rt"]
    assert check.cohort.subjects.columns.tolist() == ["subject", "group", "age"]


def test_the_four_folders_are_there(tmp_path: Path) -> None:
    written = create_study(tmp_path / "a" / "b")
    folders = {path.relative_to(tmp_path / "a" / "b").parts[0] for path in written}
    assert folders == {"README.md", "data", "protocols", "fitting", "reports"}
    assert all(path.stat().st_size for path in written)


def test_an_edited_preset_is_used_by_its_path_as_the_readme_says(tmp_path: Path) -> None:
    written = create_study(tmp_path)
    assert "`--preset fitting/default.toml`. A name alone" in (tmp_path / "README.md").read_text()
    path = tmp_path / "fitting" / "default.toml"
    path.write_text(path.read_text() + "\n[models.flat.lapse]\nfixed = 0.5\n")
    assert "flat" in load_preset(path).models
    assert "flat" not in load_preset("default").models
    assert {file.suffix for file in written if file.parent.name in ("fitting", "reports")} == {".toml", ".md"}


def test_the_protocol_speaks_of_every_key(tmp_path: Path) -> None:
    create_study(tmp_path)
    text = (tmp_path / PROTOCOL).read_text()
    keys = [*Columns.model_fields, *Exclusions.model_fields, "allow_gaps", "length_normalized", "copies", "levels"]
    assert [key for key in keys if key not in text] == []


def test_the_lines_that_are_examples_can_be_used(tmp_path: Path) -> None:
    create_study(tmp_path)
    path = tmp_path / PROTOCOL
    text = path.read_text()
    for line in ("# min_accuracy", "# covariates", "# feedback"):
        assert line in text
        text = text.replace(line, line.removeprefix("# "))
    text = text.replace("[choice]\ncoding = { left = 0, right = 1 }\n", "[choice]\n")
    for line in ("# [choice.by]", "# column =", "# [choice.by.codings]", "# a = {", "# b = {"):
        assert line in text
        text = text.replace(line, line.removeprefix("# "))
    path.write_text(text)
    protocol = load_protocol(path)
    assert protocol.exclusions.min_accuracy == 0.5
    assert protocol.choice.by is not None


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path, shell: Shell) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert "notes.txt in it; allowed: a new folder, or an empty one" in shell.refuses("init", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("name", ["file", "file/below", "x" * 300, "nul\0"])
def test_a_folder_that_cannot_be_made_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="folder"):
        create_study(tmp_path / name)


def test_odd_folder_names_are_fine(tmp_path: Path, shell: Shell) -> None:
    for name in ("$a_b$", "🙂", "[red]x[/red]", "with blanks"):
        shell("init", tmp_path / name)
        assert (tmp_path / name / PROTOCOL).is_file()


def test_a_protocol_of_the_study_is_suggested_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create_study(tmp_path / "study")
    monkeypatch.chdir(tmp_path / "study")
    with pytest.raises(InputError, match=r"Did you mean 'protocols/my_task.toml'\?"):
        load_protocol("my_task")
