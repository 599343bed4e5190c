"""Raw files and protocols that do not fit: each problem with its place, what was seen, what is allowed, what to do."""

import os
from pathlib import Path

import pytest

from holmes_fit._support.errors import InputError
from holmes_fit.trials.protocols.catalogue import read_protocol
from holmes_fit.trials.reading import read_cohort

SHEPARD = "[generator]\nkind = 'conditioning'\ncues = ['a', 'b']"

BAD_KEYS = {
    "unknown order": ("[columns]\norder='dezimal'", "key columns.order: saw 'dezimal'.*Did you mean 'decimal'"),
    "order as a list": ("[columns]\norder=['time']", r"key columns.order: saw \['time'\].*or a table"),
    "unknown order of a column": ("[columns]\norder={trial='tme'}", "key columns.order.trial: .*Did you mean 'time'"),
    "no words": ("[columns]\norder={trial=[]}", r"key columns.order.trial: saw \[\].*or a list of words"),
    "word twice": ("[columns]\norder={trial=['a', 'a']}", "key columns.order.trial: .*each word once"),
    "order of a stranger": ("[columns]\norder={at='time'}", "key columns.order.at: .*columns that trial names: trial"),
    "trial and the file": ("[columns]\ntrial='nr'\norder='file'", 'key columns.trial: .*or order = "file"'),
    "no trial": ("[columns]\ntrial=[]", r"key columns.trial: saw \[\]; allowed: a name, or a list of names"),
    "trial is no name": ("[columns]\ntrial=true", "key columns.trial: saw True; allowed: a name"),
    "unknown verb": ("[rows]\nkep.phase='a'", "key rows.kep: .*allowed: keys keep, drop. Did you mean 'keep'"),
    "rule that says nothing": ("[rows]\nkeep.phase={}", "key rows.keep.phase: saw {}; allowed: a value, a list"),
    "rule without values": ("[rows]\nkeep.phase=[]", r"key rows.keep.phase: saw \[\]; allowed: text or a number"),
    "a truth value": ("[rows]\ndrop.flag=true", "key rows.drop.flag: saw True; .*the word true is 'true'"),
    "an empty value": ("[rows]\ndrop.flag=''", "key rows.drop.flag: saw ''; .*an empty one { empty = true }"),
    "an empty range": ("[rows]\nkeep.rt={min=3, max=1}", "key rows.keep.rt.max: saw 1; allowed: at least min, 3"),
    "a range in words": ("[rows]\nkeep.rt={min='3'}", "key rows.keep.rt.min: saw '3'; allowed: a valid number"),
    "unknown part of a rule": ("[rows]\nkeep.rt={mn=3}", "key rows.keep.rt.mn: .*Did you mean 'min'"),
    "not empty, or": ("[rows]\nkeep.x={empty=false, min=1}", "key rows.keep.x.empty: .*empty = false alone"),
    "kept and dropped": ("[rows]\nkeep.p=['a','b']\ndrop.p='b'", "key rows.drop.p: saw 'b'; .*not kept by the same"),
    "people without reasons": ("[exclusions]\npeople=['a']", r"key exclusions.people: saw \['a'\]"),
    "an empty reason": ("[exclusions]\npeople={a=''}", "key exclusions.people.a: saw ''"),
    "made of nothing": ("[new_columns]\na={}", "key new_columns.a.of: saw nothing; allowed: a column or several"),
    "made of two": ("[new_columns]\na={of='b', file_name=true}", "key new_columns.a.of: .*or file_name = true instead"),
    "a separator alone": ("[new_columns]\na={of='b', separator='-'}", "key new_columns.a.part: saw nothing"),
    "a part alone": ("[new_columns]\na={of='b', part=2}", "key new_columns.a.separator: saw nothing; .*together"),
    "part 0": ("[new_columns]\na={of='b', separator='-', part=0}", "key new_columns.a.part: saw 0; .*-1 for the last"),
    "part and place": ("[new_columns]\na={of='b', separator='-', part=1, characters=1}", "characters: .*either sep"),
    "backwards": ("[new_columns]\na={of='b', characters=[3, 1]}", r"new_columns.a.characters: saw \[3, 1\]; .*first"),
    "place 0": (
        "[new_columns]\na={of='b', characters=0}",
        "key new_columns.a.characters: saw 0; allowed: a place from 1",
    ),
    "made later": ("[new_columns]\na={of='b'}\nb={of='c'}", "key new_columns.a.of: saw 'b'; .*Put b before it"),
    "made of itself": ("[new_columns]\na={of='a'}", "key new_columns.a.of: saw 'a'; allowed: a column of the file"),
    "unknown source": ("[new_columns]\na={off='a'}", "key new_columns.a.off: .*Did you mean 'of'"),
    "wide without braces": (
        "[wide]\na='b'",
        "key wide.a: saw 'b'; allowed: .*number in braces, as in 'answer_{trial}'",
    ),
    "other braces": ("[wide]\na='b{t}'\nc='d{u}'", "key wide.c: saw 'd{u}'; .*as in the first line: t"),
    "braces twice": ("[wide]\na='b{t}{t}'", "key wide.a: saw 'b{t}{t}'"),
    "braces with a name that is taken": ("[wide]\nt='b{t}'", "key wide.t: .*a name in braces that no other column has"),
    "made twice": ("[wide]\na='b{t}'\n[new_columns]\nt={of='x'}", "key new_columns.t: .*no column of wide has"),
    "two thresholds": ("[choice]\nabove=1\nbelow=2", "key choice.below: saw 2; allowed: either above"),
    "threshold and coding": (
        "[choice]\nabove=1\ncoding={a=0, b=1}",
        "key choice.coding: .*either coding or a threshold",
    ),
    "threshold and by": ("[choice]\nabove=1\nby={column='k', codings={A={a=0,b=1}}}", "choice.by: .*or a threshold"),
    "exactly nothing": ("[choice]\nexactly=1", "key choice.exactly: saw 1; allowed: a threshold with it"),
    "exactly something else": ("[choice]\nabove=3\nexactly=2", "key choice.exactly: saw 2; .*0, 1, or 'missing'"),
    "endless threshold": ("[outcome]\nbelow=inf", "key outcome.below: saw inf"),
    "unknown unit": ("[exclusions]\nrt={unit='min'}", "key exclusions.rt.unit: saw 'min'; allowed: 's' or 'ms'"),
    "limits in ms": ("[exclusions]\nrt={unit='ms', max=3000}", "key exclusions.rt.max: saw 3000; .*3000 ms are 3"),
    "anew without levels": ("[features]\nx={anew='problem'}", "key features.x.anew: .*allowed: levels with it"),
    "a generator beside them": (f"[columns]\norder='file'\n{SHEPARD}", "no columns.order beside .*of its own"),
}


@pytest.mark.parametrize(("content", "message"), BAD_KEYS.values(), ids=BAD_KEYS.keys())
def test_a_bad_key_is_refused_by_name(content: str, message: str) -> None:
    features = "" if "[features]" in content else "\n[features]\ncue = { levels = ['a', 'b'] }"
    with pytest.raises(InputError, match=message):
        read_protocol(content + features)


PROTOCOL = """
[columns]
subject = "who"
trial = ["block", "nr"]
choice = "rated"
restart = ["day"]
[new_columns]
rated = { of = ["left", "right"] }
shape = { of = "card", separator = "-", part = 1 }
digit = { of = "card", characters = 1 }
[features]
shape = { levels = ["ace", "king"] }
name = { levels = [1, 2], anew = "day" }
[choice]
above = 50
[rows]
keep.rt = { min = 0.2 }
drop.phase = "practice"
[exclusions.people]
c = "left early"
"""

ROWS = """who,day,block,nr,phase,card,name,left,right,outcome,rt
a,1,1,1,practice,ace-x,n1,10,,1,0.5
a,1,1,2,main,ace-x,n1,10,,1,0.5
a,1,1,3,main,king-x,n2,,90,0,0.5
a,1,2,1,main,ace-y,n1,90,,0,0.5
b,1,1,1,main,ace-x,n3,,20,1,0.5
b,1,1,2,main,king-x,n4,20,,1,0.1
c,1,1,1,main,ace,n1,20,,1,0.5
"""


def problems_of(tmp_path: Path, text: str, protocol: str = PROTOCOL) -> list[str]:
    path = tmp_path / "raw.csv"
    path.write_text(text, encoding="utf-8")
    coded = read_protocol(protocol)
    with pytest.raises(InputError, match="saw") as caught:
        read_cohort(path, coded)
    return [str(problem).replace(f"{tmp_path}{os.sep}", "") for problem in caught.value.problems]


def test_the_data_are_fine_before_they_are_spoilt(tmp_path: Path) -> None:
    path = tmp_path / "raw.csv"
    path.write_text(ROWS)
    cohort = read_cohort(path, read_protocol(PROTOCOL))
    assert [learner.choices.tolist() for learner in cohort.learners] == [[0, 1, 1], [0]]


SPOILT = {
    "a trial that is no number": (
        *("1,2,main,ace", "1,two,main,ace", "raw.csv, row 3, column nr: saw 'two'; allowed: a whole number"),
        "order = 'decimal' or 'time', or 'file'",
    ),
    "a trial again": (
        *("a,1,1,3,", "a,1,1,2,", "raw.csv, row 4, column nr: saw block 1, nr 2 again for subject 'a', day '1'"),
        "Name another column under trial that tells them apart, or set order = 'file'.",
    ),
    "a gap within a block": (
        *("a,1,1,3,", "a,1,1,4,", "raw.csv, row 4, column nr: saw block 1, nr 4 after block 1, nr 2"),
        "set allow_gaps = true",
    ),
    "a block left out": ("a,1,2,1,", "a,1,3,1,", "row 5, column nr: saw block 3, nr 1 after block 1, nr 3", "gaps"),
    "the first of a block left out": ("a,1,2,1,", "a,1,2,9,", "row 5, column nr: saw block 2, nr 9 after", "gaps"),
    "a part that is no level": (
        *("king-x,n2", "kin-x,n2", "raw.csv, row 4, column shape (of card): saw 'kin'; allowed: ace, king"),
        "Did you mean 'king'?",
    ),
    "a cell that is no rating": (
        *("n2,,90", "n2,,high", "raw.csv, row 4, column rated (of right): saw 'high'; allowed: a number, or empty"),
        "",
    ),
    "one name too many": (
        *("ace-y,n1", "ace-y,n9", "raw.csv, row 5, column name: saw 'n9', name 3 within who 'a', day '1'"),
        "allowed: as many names as there are levels: 1, 2. Add levels, or name under anew",
    ),
    "no name": ("ace-y,n1", "ace-y,", "raw.csv, row 5, column name: saw ''", "a feature cannot be empty"),
    "a range of words": (
        *("0,0.5\na,1,2", "0,fast\na,1,2", "raw.csv, row 4, column rt: saw 'fast'; allowed: a number, or empty"),
        "the rule for rows is about a range",
    ),
}


@pytest.mark.parametrize(("old", "new", "place", "rest"), SPOILT.values(), ids=SPOILT.keys())
def test_a_bad_cell_is_named_and_nothing_else(tmp_path: Path, old: str, new: str, place: str, rest: str) -> None:
    assert ROWS.count(old) == 1
    (problem,) = problems_of(tmp_path, ROWS.replace(old, new))
    assert place in problem
    assert rest in problem


def test_a_cell_without_the_part_is_named(tmp_path: Path) -> None:
    by_part = PROTOCOL.replace('separator = "-", part = 1', 'separator = "-", part = 2').replace('"ace"', '"x"')
    (problem,) = problems_of(tmp_path, ROWS.replace("king-x,n2", "king,n2").replace("-y", "-x"), by_part)
    assert problem.startswith("raw.csv, row 4, column card: saw 'king'; allowed: a cell with part 2 between '-', from")
    by_place = PROTOCOL.replace("characters = 1", "characters = [2, 5]")
    problems = problems_of(tmp_path, ROWS.replace("king-x,n2", "king,n2"), by_place)
    assert problems == [
        "raw.csv, row 4, column card: saw 'king'; allowed: a cell with characters 2 to 5, "
        "from which the column digit is made."
    ]


def test_columns_of_which_others_are_made_are_asked_for(tmp_path: Path) -> None:
    header, rest = ROWS.split("\n", 1)
    problems = problems_of(tmp_path, header.replace("card", "crad").replace("left,right", "l,r") + "\n" + rest)
    assert any("header: saw no column 'card'" in each and "Did you mean 'crad'?" in each for each in problems)
    assert any("header: saw no column 'left'" in each for each in problems)
    assert not any("'shape'" in each.split(";")[0] for each in problems)


def test_a_new_column_needs_a_name_of_its_own(tmp_path: Path) -> None:
    problems = problems_of(tmp_path, ROWS.replace("who,", "who,", 1).replace(",left,right", ",shape,right"))
    assert any("header: saw 'shape'; allowed: a name for the new column" in each for each in problems)


def test_rules_that_leave_nothing_are_refused(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, ROWS, PROTOCOL.replace("min = 0.2", "min = 20"))
    assert (
        problem == "protocol protocol, key rows.keep.rt: saw none of 6 rows left; allowed: rules that leave some rows."
    )
    everyone = PROTOCOL + 'a = "x"\nb = "x"\n'
    (problem,) = problems_of(tmp_path, ROWS, everyone)
    assert problem.startswith("protocol protocol, key exclusions.people: saw none of 7 rows left")


def test_a_rule_about_a_column_that_is_not_there_asks_for_it(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, ROWS, PROTOCOL.replace("drop.phase", "drop.fase"))
    assert "header: saw no column 'fase'" in problem


def test_people_and_values_that_nobody_has_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "raw.csv"
    path.write_text(ROWS)
    protocol = PROTOCOL.replace('"practice"', '"practise"') + 'anna = "fell asleep"\n'
    notes = read_cohort(path, read_protocol(protocol.replace("[features]", "[features]"))).notes
    assert "exclusions.people: nobody is called 'anna' in these files." in notes
    assert "rows.drop.phase ('practise'): 0 of 5 rows left out. Did you mean 'practice'?" in notes


WIDE = """
[columns]
subject = "who"
choice = "answer"
[wide]
cue = "cue{trial}"
answer = "a{trial}"
outcome = "o{trial}"
[features]
cue = "binary"
"""


def test_wide_tables_without_their_columns(tmp_path: Path) -> None:
    text = "who,cue1,cue2,a1,a2,o1,o2\np,0,1,0,1,1,1\n"
    assert len(read_cohort(written(tmp_path, text), read_protocol(WIDE)).trials) == 2
    (problem,) = problems_of(tmp_path, text.replace("a2", "b2"), WIDE)
    assert problem.startswith("raw.csv, header: saw no column 'a2'; allowed: every column of a trial")
    problems = problems_of(tmp_path, text.replace("o1", "x").replace("o2", "y"), WIDE)
    assert any("header: saw no column like 'o{trial}'; allowed: a column for each trial" in each for each in problems)
    problems = problems_of(tmp_path, text.replace("a2", "a01"), WIDE)
    assert any("saw 'a1' and 'a01'; allowed: one column a{trial} for a number" in each for each in problems)
    problems = problems_of(tmp_path, "who,trial,cue1,a1,o1\np,1,0,0,1\n", WIDE)
    assert any("header: saw 'trial'; allowed: a name for the new column" in each for each in problems)
    (problem,) = problems_of(tmp_path, text.replace("0,1,0,1,1,1", "0,7,0,1,1,1"), WIDE)
    assert problem.startswith("raw.csv, row 2, column cue (of cue2): saw '7'; allowed: 0, 1")


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "raw.csv"
    path.write_text(text, encoding="utf-8")
    return path


NAMED = """
[columns]
order = "file"
[new_columns]
subject = { file_name = true, separator = "_", part = 2 }
[features]
x = "binary"
"""


def test_files_whose_names_do_not_say_who(tmp_path: Path) -> None:
    rows = "x,choice,outcome\n1,1,1\n"
    (tmp_path / "exp_anna.csv").write_text(rows)
    (tmp_path / "ben.csv").write_text(rows)
    with pytest.raises(
        InputError, match=r"ben.csv: saw 'ben'; allowed: a file whose name has part 2 between '_', from"
    ):
        read_cohort(tmp_path, read_protocol(NAMED))
    (tmp_path / "ben.csv").unlink()
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "exp_anna.csv").write_text(rows)
    paths = [tmp_path / folder / "exp_anna.csv" for folder in ("one", "two")]
    with pytest.raises(InputError, match=r"saw the name 'exp_anna', as .*one.* has; allowed: one file of that name"):
        read_cohort(paths, read_protocol(NAMED))


TIMES = "[columns]\ntrial = 'at'\norder = 'time'\n[features]\nx = 'binary'\n"


@pytest.mark.parametrize("cell", ["25:00", "9.15", "13:00 PM", "20240305", "2024-02-30", "5/3/2024", "soon", ""])
def test_what_is_no_time_is_named(tmp_path: Path, cell: str) -> None:
    (problem,) = problems_of(tmp_path, f"subject,at,x,choice,outcome\np,9:15,0,1,1\np,{cell},1,1,1\n", TIMES)
    assert problem.startswith(f"raw.csv, row 3, column at: saw {cell!r}; allowed: a time or a date, such as 09:31:05")


def test_a_date_that_is_not_in_the_calendar_is_named(tmp_path: Path) -> None:
    protocol = TIMES.replace("'time'", "'day first'")
    (problem,) = problems_of(tmp_path, "subject,at,x,choice,outcome\np,12/31/2024,0,1,1\n", protocol)
    assert problem.startswith("raw.csv, row 2, column at: saw '12/31/2024'; allowed: a date with the day first")


def test_clocks_that_pass_midnight_need_a_date(tmp_path: Path) -> None:
    text = "subject,at,x,choice,outcome\np,23:59,0,1,1\np,00:01,0,1,1\nq,23:58,1,1,1\n"
    (problem,) = problems_of(tmp_path, text, TIMES)
    assert (
        "row 3, column at: saw 00:01 after at 23:59 in the file, for subject 'p'; allowed: times of one day" in problem
    )
    assert "trial = ['date', 'time']" in problem


def test_words_out_of_the_order_are_named(tmp_path: Path) -> None:
    protocol = "[columns]\norder = { trial = ['first', 'then'] }\n[features]\nx = 'binary'\n"
    (problem,) = problems_of(tmp_path, "subject,trial,x,choice,outcome\np,first,0,1,1\np,than,1,1,1\n", protocol)
    assert "row 3, column trial: saw 'than'; allowed: one of the words in their order: first, then." in problem
    assert "Did you mean 'then'?" in problem
