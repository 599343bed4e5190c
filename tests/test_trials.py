"""Reading trials: every way in which a lab may write them, to the same arrays."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from holmes_fit._support.errors import InputError
from holmes_fit.trials.cohorts import Cohort, build_cohort
from holmes_fit.trials.observations import MISSED
from holmes_fit.trials.protocols.catalogue import load_protocol, protocol_names, read_protocol
from holmes_fit.trials.protocols.generators import generate_trials
from holmes_fit.trials.protocols.schema import Protocol
from holmes_fit.trials.reading import check_data, read_cohort
from holmes_fit.trials.summaries import cohort_summary, learning_curve, subject_summary
from holmes_fit.trials.writing import write_trials

SIMPLE = """
[columns]
optional_covariates = ["group", "age"]
[features]
x = "binary"
color = { levels = ["red", "green", "blue"] }
"""

ROWS = """subject,trial,x,color,choice,outcome,rt,group
01,1,0,red,1,1,0.50,young
01,2,1,green,0,1,0.75,young
01,3,1,blue,,0,,young
b,1,1,red,0,,1.25,old
b,2,0,blue,1,0,0.25,old
"""


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def read(tmp_path: Path, text: str, protocol: str | Protocol = SIMPLE, encoding: str = "utf-8") -> Cohort:
    if isinstance(protocol, str):
        protocol = read_protocol(protocol)
    return read_cohort(write(tmp_path / "data.csv", text, encoding), protocol)


def simulated(protocol: Protocol, people: int = 3, missed: float = 0.1) -> pd.DataFrame:
    """Make a cohort of people who guess."""
    tables = []
    for number in range(people):
        rng = np.random.default_rng(number)
        trials = generate_trials(protocol, rng)
        choice = pd.array(rng.integers(2, size=len(trials)), dtype="Int8")
        choice[rng.random(len(trials)) < missed] = pd.NA
        tables.append(trials.assign(subject=f"S{number:02d}", choice=choice))
    return pd.concat(tables, ignore_index=True)


def assert_same_learners(left: Cohort, right: Cohort) -> None:
    assert len(left.learners) == len(right.learners)
    for ours, theirs in zip(left.learners, right.learners, strict=True):
        assert (ours.subject, ours.restart) == (theirs.subject, theirs.restart)
        np.testing.assert_array_equal(ours.choices, theirs.choices)
        for name in ("cues", "outcome", "feedback"):
            mine, other = getattr(ours.observations, name), getattr(theirs.observations, name)
            np.testing.assert_array_equal(mine, other)
            assert mine.dtype == other.dtype
        assert ours.observations.length_normalized == theirs.observations.length_normalized


def test_a_simple_file_becomes_arrays(tmp_path: Path) -> None:
    cohort = read(tmp_path, ROWS)
    first, second = cohort.learners
    assert (first.subject, first.restart) == ("01", "")
    np.testing.assert_array_equal(first.observations.cues, [[0, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]])
    np.testing.assert_array_equal(first.observations.outcome, [1, 1, 0])
    np.testing.assert_array_equal(first.choices, [1, 0, MISSED])
    np.testing.assert_array_equal(second.observations.feedback, [False, True])
    np.testing.assert_array_equal(second.rows, [3, 4])
    assert first.observations.cues.dtype == np.uint8
    assert first.choices.dtype == np.int8
    assert cohort.trials["choice"].isna().tolist() == [False, False, True, False, False]
    assert cohort.subjects.to_dict("list") == {"subject": ["01", "b"], "group": ["young", "old"]}
    assert cohort.trials["rt"].tolist() == ["0.50", "0.75", "", "1.25", "0.25"]
    assert cohort.notes == ("Columns that the protocol does not name are kept as they are: rt.",)


def semicolons(text: str) -> str:
    return text.replace(",", ";").replace(".", ",")


VARIANTS = {
    "semicolon and decimal comma": (semicolons(ROWS), "utf-8"),
    "tab": (ROWS.replace(",", "\t"), "utf-8"),
    "a hint for Excel": ("sep=,\n" + ROWS, "utf-8"),
    "a hint for Excel, and semicolons": ("sep=;\r\n" + semicolons(ROWS).replace("\n", "\r\n"), "utf-8-sig"),
    "a hint for Excel, in quotes, and tabs": ('"sep=\t"\n' + ROWS.replace(",", "\t"), "utf-16"),
    "byte order mark": (ROWS, "utf-8-sig"),
    "UTF-16": (ROWS.replace(",", "\t"), "utf-16"),
    "CRLF": (ROWS.replace("\n", "\r\n"), "utf-8"),
    "CR": (ROWS.replace("\n", "\r"), "utf-8"),
    "no last line end": (ROWS.rstrip("\n"), "utf-8"),
    "blank lines": ("\n" + ROWS.replace("\n", "\n\n"), "utf-8"),
    "empty rows of a spreadsheet": (ROWS + ",,,,,,,\n,,,,,,,\n", "utf-8"),
    "separators at the end of lines": (ROWS.replace("\n", ",,\n"), "utf-8"),
    "separators at the end of rows only": (ROWS.replace("\n", ",\n").replace("group,", "group", 1), "utf-8"),
    "quotes": ("\n".join(",".join(f'"{c}"' for c in line.split(",")) for line in ROWS.splitlines()), "utf-8"),
    "blanks": (ROWS.replace("red", " red ").replace("choice", " choice "), "utf-8"),
    "numbers as floats": (ROWS.replace(",1,1,", ",1.0,1.00,").replace("01,2,", "01,2.0,"), "utf-8"),
    "words for nothing": (ROWS.replace("blue,,0,,", "blue,NA,0,n/a,").replace("0,,1.25", "0,NaN,1.25"), "utf-8"),
    "unsorted": ("\n".join([ROWS.splitlines()[i] for i in (0, 2, 4, 3, 5, 1)]), "utf-8"),
    "columns in another order": (
        "\n".join(",".join(line.split(",")[i] for i in (7, 5, 4, 3, 2, 1, 0, 6)) for line in ROWS.splitlines()),
        "utf-8",
    ),
}


@pytest.mark.parametrize(("text", "encoding"), VARIANTS.values(), ids=VARIANTS.keys())
def test_every_way_of_writing_gives_the_same_arrays(tmp_path: Path, text: str, encoding: str) -> None:
    expected = read(tmp_path, ROWS)
    cohort = read(tmp_path, text, encoding=encoding)
    assert_same_learners(expected, cohort)
    assert cohort.subjects.equals(expected.subjects)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8", "utf-16"])
def test_accents_survive(tmp_path: Path, encoding: str) -> None:
    cohort = read(tmp_path, ROWS.replace("young", "jünger").replace("01,", "Zoë,"), encoding=encoding)
    assert cohort.subjects["subject"].tolist() == ["Zoë", "b"]
    assert cohort.subjects["group"].tolist() == ["jünger", "old"]
    assert any("Latin-1" in note for note in cohort.notes) == (encoding == "latin-1")


def test_decimal_commas_are_numbers(tmp_path: Path) -> None:
    protocol = SIMPLE + "[exclusions]\nrt = { min = 0.2, max = 1.0 }"
    cohort = read(tmp_path, semicolons(ROWS), protocol)
    np.testing.assert_array_equal(cohort.learners[1].choices, [MISSED, 1])
    assert any("decimal commas" in note for note in cohort.notes)


ODD_NAMES = ["../x", "$a_b$", "🧠", "n" * 300, "007", "NA", "a, b", 'say "x"', "two\nlines", " b", "=1+1", "-1", "nan"]


def test_odd_names_stay_as_they_are(tmp_path: Path) -> None:
    protocol = read_protocol(SIMPLE)
    trials = pd.concat(
        [
            pd.DataFrame({"subject": [n], "trial": 1, "x": 0, "color": "red", "choice": 1, "outcome": 1})
            for n in ODD_NAMES
        ]
    )
    cohort = build_cohort(trials.assign(feedback=True), protocol)
    write_trials(cohort.trials, protocol, tmp_path / "odd.csv")
    back = read_cohort(tmp_path / "odd.csv", protocol)
    assert [learner.subject for learner in back.learners] == ODD_NAMES
    assert back.subjects["subject"].tolist() == ODD_NAMES


def test_names_that_look_alike_are_pointed_out(tmp_path: Path) -> None:
    cohort = read(tmp_path, ROWS.replace("01,2,1", "01 ,1,1").replace("01,3,", "01,2,"))
    assert len(cohort.learners) == 3
    assert "Subjects '01' and '01 ' count as different people; are they?" in cohort.notes


@pytest.mark.parametrize("name", protocol_names())
def test_what_is_simulated_reads_back_the_same(tmp_path: Path, name: str) -> None:
    protocol = load_protocol(name)
    made = build_cohort(simulated(protocol), protocol)
    write_trials(made.trials, protocol, tmp_path / "made.csv")
    back = read_cohort(tmp_path / "made.csv", name)
    assert_same_learners(made, back)
    kept = [
        column for column in made.trials if column in ("subject", "restart", "choice", "outcome", *protocol.features)
    ]
    pd.testing.assert_frame_equal(made.trials[kept], back.trials[kept], check_dtype=False)
    write_trials(back.trials, protocol, tmp_path / "again.csv")
    assert_same_learners(back, read_cohort(tmp_path / "again.csv", name))


CODED = """
[columns]
subject = "id"
trial = "nr"
choice = "key"
{outcome}
restart = ["session", "problem"]
covariates = ["group"]

[features]
cue = {{ levels = ["a", "b"], copies = 2 }}

[choice]
missing = ["timeout"]
[choice.by]
column = "key_map"
[choice.by.codings]
A = {{ left = 0, right = 1 }}
B = {{ left = 1, right = 0 }}

{coding}

[exclusions]
rt = {{ min = 0.1, max = 2.0 }}

[generator]
kind = "conditioning"
cues = ["a", "b"]
"""
OUTCOME = CODED.format(outcome='outcome = "weather"', coding="[outcome]\ncoding = { sun = 0, rain = 1 }")
CORRECT = CODED.format(outcome='correct = "hit"', coding="[correct]\ncoding = { no = 0, yes = 1 }")
SHOWN = CODED.format(
    outcome='outcome = "weather"\nfeedback = "shown"',
    coding="[outcome]\ncoding = { sun = 0, rain = 1 }\n[feedback]\ncoding = { yes = 1, no = 0 }",
)


@pytest.mark.parametrize("content", [OUTCOME, CORRECT, SHOWN], ids=["outcome", "correct", "feedback"])
def test_a_lab_s_own_columns_and_codes_read_back_the_same(tmp_path: Path, content: str) -> None:
    protocol = read_protocol(content)
    trials = simulated(protocol, people=8)
    rng = np.random.default_rng(9)
    trials["rt"] = rng.choice(["0.05", "0.5", "1", "3.5"], len(trials), p=[0.1, 0.4, 0.4, 0.1])
    trials.loc[rng.random(len(trials)) < 0.1, "feedback"] = False
    trials["outcome"] = trials["outcome"].astype("Int8")
    if protocol.columns.correct:
        trials.loc[trials["choice"].isna(), "feedback"] = False
    if not protocol.columns.feedback:
        trials.loc[~trials["feedback"], "outcome"] = pd.NA
    made = build_cohort(trials, protocol)
    write_trials(made.trials, protocol, tmp_path / "one.csv")
    assert {"left", "right", "A", "B"} <= set((tmp_path / "one.csv").read_text().replace("\n", ",").split(","))
    first = read_cohort(tmp_path / "one.csv", protocol)
    for learner, before in zip(first.learners, made.learners, strict=True):
        rt = made.trials["rt"].iloc[before.rows].astype(float)
        expected = np.where((rt < 0.1) | (rt > 2), MISSED, before.choices)
        np.testing.assert_array_equal(learner.choices, expected)
        np.testing.assert_array_equal(learner.observations.cues, before.observations.cues)
        np.testing.assert_array_equal(learner.observations.feedback, before.observations.feedback)
        np.testing.assert_array_equal(learner.observations.outcome, before.observations.outcome)
    write_trials(first.trials, protocol, tmp_path / "two.csv")
    assert_same_learners(first, read_cohort(tmp_path / "two.csv", protocol))


def test_counterbalanced_keys_are_decoded_by_person(tmp_path: Path) -> None:
    text = "id,nr,session,problem,cue,key,weather,key_map,group,rt\n"
    text += "p,1,1,1,a,left,sun,A,g,1\np,2,1,1,b,timeout,rain,A,g,1\nq,1,1,1,a,left,sun,B,g,1\n"
    cohort = read(tmp_path, text, OUTCOME)
    np.testing.assert_array_equal(cohort.learners[0].choices, [0, MISSED])
    np.testing.assert_array_equal(cohort.learners[1].choices, [1])


def test_codings_can_be_given_subject_by_subject(tmp_path: Path) -> None:
    protocol = SIMPLE + "[choice.by]\ncolumn='subject'\n[choice.by.codings]\n01={0=0,1=1}\nb={0=1,1=0}"
    cohort = read(tmp_path, ROWS, protocol)
    np.testing.assert_array_equal(cohort.learners[0].choices, [1, 0, MISSED])
    np.testing.assert_array_equal(cohort.learners[1].choices, [1, 0])
    write_trials(cohort.trials, cohort.protocol, tmp_path / "out.csv")
    assert_same_learners(cohort, read_cohort(tmp_path / "out.csv", cohort.protocol))


def test_the_outcome_follows_from_choice_and_correct(tmp_path: Path) -> None:
    protocol = "[columns]\ncorrect = 'ok'\n[features]\nx = 'binary'"
    text = "subject,trial,x,choice,ok\ns,1,0,1,1\ns,2,0,1,0\ns,3,0,0,1\ns,4,0,0,0\ns,5,0,,0\ns,6,0,1,\n"
    cohort = read(tmp_path, text, protocol)
    learner = cohort.learners[0]
    np.testing.assert_array_equal(learner.observations.outcome[:4], [1, 0, 0, 1])
    np.testing.assert_array_equal(learner.observations.feedback, [True] * 4 + [False] * 2)
    assert any(note.startswith("1 missed answers leave the outcome unknown") for note in cohort.notes)


def test_a_feedback_column_hides_outcomes_without_losing_them(tmp_path: Path) -> None:
    protocol = "[columns]\nfeedback = 'shown'\n[features]\nx = 'binary'"
    cohort = read(tmp_path, "subject,trial,x,choice,outcome,shown\ns,1,0,1,1,1\ns,2,0,1,1,0\ns,3,0,1,,0\n", protocol)
    np.testing.assert_array_equal(cohort.learners[0].observations.feedback, [True, False, False])
    assert cohort.trials["outcome"].tolist() == [1, 1, pd.NA]


def test_a_restart_is_a_new_learner_of_the_same_person(tmp_path: Path) -> None:
    protocol = "[columns]\nrestart = ['session', 'problem']\n[features]\nx = 'binary'"
    rows = [f"s,{session},{problem},{t},0,1,1" for session in "12" for problem in ("a", "b,c") for t in (1, 2)]
    text = "subject,session,problem,trial,x,choice,outcome\n" + "\n".join(rows).replace("b,c", '"b,c"')
    cohort = read(tmp_path, text, protocol)
    assert [learner.restart for learner in cohort.learners] == [
        *("session=1, problem=a", "session=1, problem=b\\,c", "session=2, problem=a", "session=2, problem=b\\,c")
    ]
    assert cohort.trials["session"].tolist() == ["1"] * 4 + ["2"] * 4
    assert subject_summary(cohort)["learners"].tolist() == [4]


def test_trials_may_start_anywhere_and_be_of_unequal_number(tmp_path: Path) -> None:
    text = "subject,trial,x,color,choice,outcome\na,5,0,red,1,1\na,6,1,red,1,1\nb,1,0,red,1,1\n"
    cohort = read(tmp_path, text)
    assert [learner.observations.n_trials for learner in cohort.learners] == [2, 1]
    assert any("start at different trial numbers, 1 to 5" in note for note in cohort.notes)


def test_gaps_are_accepted_when_the_protocol_allows_them(tmp_path: Path) -> None:
    cohort = read(tmp_path, ROWS.replace("01,3,", "01,9,"), "allow_gaps = true\n" + SIMPLE)
    assert cohort.trials["trial"].tolist() == [1, 2, 9, 1, 2]


def test_columns_with_the_names_of_the_tidy_table_are_kept_beside_it(tmp_path: Path) -> None:
    protocol = "[columns]\nchoice = 'key'\noutcome = 'rain'\n[features]\nx = 'binary'"
    text = "subject,trial,x,key,rain,choice,outcome,outcome_in_file,restart\ns,1,0,1,0,A,B,C,D\n"
    cohort = read(tmp_path, text, protocol)
    row = cohort.trials.iloc[0]
    assert (row["choice"], row["outcome"], row["restart"]) == (1, 0, "")
    assert (row["choice_in_file"], row["outcome_in_file"], row["restart_in_file"]) == ("A", "C", "D")
    assert row["outcome_in_file_in_file"] == "B"
    write_trials(cohort.trials, cohort.protocol, tmp_path / "out.csv")
    assert_same_learners(cohort, read_cohort(tmp_path / "out.csv", cohort.protocol))


def test_blanks_in_the_labels_of_a_protocol_do_not_matter(tmp_path: Path) -> None:
    protocol = "[features]\nx = { levels = [' red', 'blue '] }\n[choice]\ncoding = { 'left ' = 0, right = 1 }"
    text = "subject,trial,x,choice,outcome\ns,1,red,left,1\ns,2, red ,left ,1\ns,3,blue,right,1\n"
    learner = read(tmp_path, text, protocol).learners[0]
    np.testing.assert_array_equal(learner.observations.cues, [[1, 0], [1, 0], [0, 1]])
    np.testing.assert_array_equal(learner.choices, [0, 0, 1])


def test_a_protocol_without_features_reads_trials_without_cues(tmp_path: Path) -> None:
    cohort = read(tmp_path, "subject,trial,choice,outcome\ns,1,0,1\ns,2,1,1\n", "[features]")
    assert cohort.learners[0].observations.cues.shape == (2, 0)


def test_a_column_without_a_name_is_kept(tmp_path: Path) -> None:
    text = "\n".join(f"{i or ''},{line}" for i, line in enumerate(ROWS.splitlines()))
    assert read(tmp_path, text).trials["unnamed_1"].tolist() == ["1", "2", "3", "4", "5"]


# Several files, folders, participants


def split_by_person(folder: Path, text: str = ROWS) -> Path:
    folder.mkdir()
    header, *rows = text.splitlines()
    for name in ("01", "b"):
        write(folder / f"sub-{name}.csv", "\n".join([header, *[row for row in rows if row.startswith(name)]]))
    return folder


def test_a_folder_or_several_files_read_like_one(tmp_path: Path) -> None:
    expected = read(tmp_path, ROWS)
    folder = split_by_person(tmp_path / "people")
    (folder / "notes.md").write_text("remember")
    (folder / ".hidden.csv").write_text("no")
    from_folder = read_cohort(folder, read_protocol(SIMPLE))
    assert_same_learners(expected, from_folder)
    assert any("left aside 1 other files, such as notes.md" in note for note in from_folder.notes)
    files = sorted(folder.glob("sub*.csv"))
    assert_same_learners(expected, read_cohort(files, read_protocol(SIMPLE)))
    assert_same_learners(expected, read_cohort([str(file) for file in files], read_protocol(SIMPLE)))


def test_files_may_differ_in_separator_and_extra_columns(tmp_path: Path) -> None:
    folder = split_by_person(tmp_path / "people")
    table = pd.read_csv(folder / "sub-b.csv", dtype=str, keep_default_na=False)
    table.assign(note="x").to_csv(folder / "sub-b.csv", sep=";", index=False)
    cohort = read_cohort(folder, read_protocol(SIMPLE))
    assert_same_learners(read(tmp_path, ROWS), cohort)
    assert cohort.trials["note"].tolist() == ["", "", "", "x", "x"]


def test_people_two_comes_before_people_ten(tmp_path: Path) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    for number in (10, 9, 1):
        write(folder / f"p{number}.csv", f"subject,trial,x,color,choice,outcome\n{number},1,0,red,1,1\n")
    cohort = read_cohort(folder, read_protocol(SIMPLE))
    assert [learner.subject for learner in cohort.learners] == ["1", "9", "10"]


def test_participants_are_joined_by_subject(tmp_path: Path) -> None:
    folder = split_by_person(tmp_path / "people")
    people = write(folder / "people.csv", "subject;age;group;site\nb;71,5;old;X\n01;;young;Y\nghost;1;old;Z\n")
    cohort = read_cohort(folder, read_protocol(SIMPLE), people)
    assert cohort.subjects["subject"].tolist() == ["01", "b"]
    assert cohort.subjects["group"].tolist() == ["young", "old"]
    assert np.isnan(cohort.subjects["age"][0])
    assert cohort.subjects["age"][1] == 71.5
    assert cohort.subjects["site"].tolist() == ["Y", "X"]
    assert any("1 people without trials" in note for note in cohort.notes)


def test_covariates_and_codings_may_come_from_participants_only(tmp_path: Path) -> None:
    text = "id,nr,session,problem,cue,key,weather,rt\np,1,1,1,a,left,sun,1\nq,1,1,1,a,left,sun,1\n"
    people = write(tmp_path / "people.csv", "id,key_map,group\np,A,x\nq,B,y\n")
    data = write(tmp_path / "data.csv", text)
    cohort = read_cohort(data, read_protocol(OUTCOME), people)
    assert [learner.choices[0] for learner in cohort.learners] == [0, 1]
    assert cohort.subjects["group"].tolist() == ["x", "y"]
    write_trials(cohort.trials, cohort.protocol, tmp_path / "out.csv")
    assert_same_learners(cohort, read_cohort(tmp_path / "out.csv", cohort.protocol))


# Rules and summaries

RULES = SIMPLE + "[exclusions]\nrt = { max = 1.0 }\n"


def test_slow_answers_count_as_missed_and_their_rows_stay(tmp_path: Path) -> None:
    cohort = read(tmp_path, ROWS, RULES)
    np.testing.assert_array_equal(cohort.learners[1].choices, [MISSED, 1])
    assert cohort.learners[1].observations.n_trials == 2
    assert cohort.trials["excluded_choice"].tolist() == [pd.NA, pd.NA, pd.NA, 0, pd.NA]
    assert cohort.exclusions.to_dict("records") == [
        {"subject": "b", "rule": "rt", "seen": "1 answer outside", "allowed": "0 to 1"}
        | {"consequence": "answers count as missed"}
    ]


def test_people_below_the_minimum_go_and_are_listed(tmp_path: Path) -> None:
    cohort = read(tmp_path, ROWS, RULES + "min_answered = 2")
    assert [learner.subject for learner in cohort.learners] == ["01"]
    assert cohort.subjects["subject"].tolist() == ["01"]
    assert set(cohort.trials["subject"]) == {"01"}
    assert cohort.exclusions.iloc[-1].tolist() == ["b", "min_answered", "1", "at least 2", "person left out"]
    np.testing.assert_array_equal(cohort.learners[0].rows, [0, 1, 2])


def test_people_below_the_accuracy_go(tmp_path: Path) -> None:
    cohort = read(tmp_path, ROWS, SIMPLE + "[exclusions]\nmin_accuracy = 0.5")
    assert [learner.subject for learner in cohort.learners] == ["01"]  # 1 of 2, against 0 of 1
    assert cohort.exclusions.iloc[0].tolist() == ["b", "min_accuracy", "0", "at least 0.5", "person left out"]


def test_someone_without_answers_can_be_left_out_by_a_rule(tmp_path: Path) -> None:
    text = ROWS.replace("red,0,,", "red,,,").replace("blue,1,0,0.25", "blue,,0,0.25")
    cohort = read(tmp_path, text, SIMPLE + "[exclusions]\nmin_answered = 1")
    assert cohort.subjects["subject"].tolist() == ["01"]


def test_a_person_who_never_saw_an_outcome_is_noted(tmp_path: Path) -> None:
    text = "subject,trial,x,color,choice,outcome\na,1,0,red,1,\na,2,1,red,1,\n"
    cohort = read(tmp_path, text)
    assert not cohort.learners[0].observations.feedback.any()
    assert "1 learners never saw an outcome." in cohort.notes


def test_summaries_count_what_was_read(tmp_path: Path) -> None:
    cohort = read(tmp_path, ROWS)
    everyone, old, young = cohort_summary(cohort).to_dict("records")
    assert everyone == {
        **{"group": "everyone", "subjects": 2, "learners": 2, "trials": 5, "answered": 4, "missed": 1},
        **{"no_feedback": 1, "accuracy": 0.25},
    }
    assert (old["group"], old["trials"], old["accuracy"]) == ("old", 2, 0.0)
    assert (young["group"], young["trials"], young["accuracy"]) == ("young", 3, 0.5)
    with pytest.raises(InputError, match=r"argument by: saw 'grup'.*Did you mean 'group'"):
        cohort_summary(cohort, by="grup")


def test_the_learning_curve_runs_over_positions_and_groups(tmp_path: Path) -> None:
    rows = [
        f"{who},{t + start},0,red,{int(t >= 4)},1,,{who}" for who, start in (("a", 1), ("b", 100)) for t in range(8)
    ]
    curve = learning_curve(read(tmp_path, "\n".join([ROWS.splitlines()[0], *rows])), bins=4)
    assert curve["group"].tolist() == ["a"] * 4 + ["b"] * 4
    assert curve["first"].tolist() == [1, 3, 5, 7] * 2
    assert curve["last"].tolist() == [2, 4, 6, 8] * 2
    assert curve["answers"].tolist() == [2] * 8
    assert curve["accuracy"].tolist() == [0, 0, 1, 1] * 2


def test_a_curve_without_groups_is_of_everyone(tmp_path: Path) -> None:
    cohort = read(tmp_path, ROWS.replace("young", "old"))
    assert set(learning_curve(cohort)["group"]) == {"everyone"}
    assert cohort_summary(cohort)["group"].tolist() == ["everyone"]


def test_a_check_says_how_much_was_read(tmp_path: Path) -> None:
    path = write(tmp_path / "data.csv", ROWS)
    check = check_data(path, read_protocol(SIMPLE))
    assert (check.files, check.rows, check.subjects, check.problems) == ((str(path),), 5, 2, ())
    assert check.cohort is not None
    write(path, ROWS.replace("red,1,1", "red,1,7"))
    check = check_data(path, read_protocol(SIMPLE))
    assert (check.rows, check.subjects, check.cohort, len(check.problems)) == (5, 2, None, 1)
