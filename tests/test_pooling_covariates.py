"""Formulas and covariates: designs, contrasts, and a message for everything that cannot be used."""

import numpy as np
import pandas as pd
import pytest

from holmes_fit._support.errors import InputError
from holmes_fit.groups.pooling import covariates
from holmes_fit.groups.pooling.covariates import make_designs
from holmes_fit.groups.pooling.formulas import parse

SUBJECTS = ["a", "b", "c", "d", "e", "f"]
PEOPLE = pd.DataFrame(
    {
        "subject": SUBJECTS,
        "group": ["patient", "control", "patient", "control", "sibling", "sibling"],
        "age": [20.0, 30.0, 40.0, 50.0, 60.0, 70.0],
        "months": [240.0, 360.0, 480.0, 600.0, 720.0, 840.0],
        "handed": [0.0, 1.0, 0.0, 0.0, 1.0, 0.0],
        "site": ["x"] * 6,
        "iq": [100.0, np.nan, 110.0, 90.0, np.nan, 120.0],
    }
)
PARAMETERS = ("alpha", "omega", "beta")


def test_numbers_are_standardised_and_groups_are_dummies() -> None:
    designs = make_designs(["alpha ~ group + age", "beta ~ handed"], PEOPLE, SUBJECTS, PARAMETERS)
    alpha, beta = designs["alpha"], designs["beta"]
    assert alpha.columns == ("group[T.patient]", "group[T.sibling]", "age")
    age = PEOPLE["age"].to_numpy()
    wanted = np.column_stack([PEOPLE["group"] == "patient", PEOPLE["group"] == "sibling", (age - 45) / age.std()])
    np.testing.assert_allclose(alpha.matrix, wanted)
    assert beta.columns == ("handed[T.1.0]",)  # of two values, a number is a group


def test_people_come_in_the_order_that_is_asked_for() -> None:
    shuffled = PEOPLE.iloc[[3, 0, 5, 1, 4, 2]]
    one, other = (make_designs(["alpha ~ age"], table, SUBJECTS, PARAMETERS)["alpha"] for table in (PEOPLE, shuffled))
    np.testing.assert_array_equal(one.matrix, other.matrix)


def test_contrasts_compare_groups_at_the_average_of_the_rest() -> None:
    design = make_designs(["alpha ~ group * age"], PEOPLE, SUBJECTS, PARAMETERS)["alpha"]
    by_name = {contrast.name: contrast.above - contrast.below for contrast in design.contrasts}
    assert list(by_name) == [
        "group: patient - control",
        "group: sibling - control",
        "group: sibling - patient",
        "age: +1 SD - mean",
    ]
    effects = dict(zip(design.columns, by_name["group: patient - control"], strict=True))
    # The average of the standardised age is 0, so that its interaction drops out.
    assert effects == pytest.approx(
        {"group[T.patient]": 1, "group[T.sibling]": 0, "age": 0, "group[T.patient]:age": 0, "group[T.sibling]:age": 0}
    )
    slope = dict(zip(design.columns, by_name["age: +1 SD - mean"], strict=True))
    assert slope["age"] == pytest.approx(1)
    assert slope["group[T.patient]:age"] == pytest.approx(1 / 3)  # a third of the people are patients


@pytest.mark.parametrize(
    ("formulas", "message"),
    [
        (["alpha ~ group +"], "nothing after an operator"),
        (["group"], "not one parameter before ~"),
        (["alpha ~ group | age"], r"saw '\| age', where a covariate or"),
        (["alpha ~ group ~ age"], "saw '~ age', where a covariate or"),
        (["alpa ~ group"], "saw 'alpa'; allowed: a free parameter: alpha, omega, beta. Did you mean 'alpha'"),
        (["alpha ~ group", "alpha ~ age"], "a second formula for alpha"),
        (["alpha ~ 0 + group"], r"saw '0 \+ group', where"),
        (["alpha ~ np.log(age)"], r"saw '\(age\)', where .* Compute other values in the table of people"),
        (["alpha ~ 1"], "saw '1', where"),
        (["C(alpha) ~ age"], "not one parameter before ~"),
        (["alpha ~ C(group:age)"], r"saw '\(group:age\)', where"),
        (["alpha ~ scale(group)"], "covariate group: saw text, to be scaled; allowed: numbers"),
        (["alpha ~ group*age*handed*months*iq"], "a product of more than 4 covariates"),
        (["alpha ~ C(age):C(months)"], "columns that say the same: 25 or more, of 6 people"),
        (["alpha ~ grup"], "covariate grup: saw 'grup'.*Did you mean 'group'"),
        (["alpha ~ iq"], r"covariate iq: saw no value for 2 of 6 people: \['b', 'e'\]"),
        (["alpha ~ site"], "covariate site: saw 'x' for everyone; allowed: a covariate that differs"),
        (["alpha ~ age + months"], "columns that say the same: age, months"),
    ],
)
def test_what_cannot_be_used_is_said(formulas: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_designs(formulas, PEOPLE, SUBJECTS, PARAMETERS)


@pytest.mark.parametrize(
    "right",
    [
        "__import__('os').system('touch sprung')",
        "(group+age)**40",
        "group^40",
        "{group}",
        "C(group, contr.sum)",
        "I(age)",
        "`age",
        "age" + "+age" * 300,
        "(" * 400 + "age" + ")" * 400,
    ],
)
def test_whatever_is_not_in_the_grammar_is_refused_before_a_library_sees_it(
    right: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(covariates, "_as_the_library_has_it", None)
    with pytest.raises(InputError, match="allowed: PARAMETER ~ COVARIATE"):
        make_designs([f"alpha ~ {right}"], PEOPLE, SUBJECTS, PARAMETERS)


def test_numbers_may_be_taken_for_groups_and_groups_of_two_for_numbers() -> None:
    people = PEOPLE.assign(**{"level (of 3)": [1, 1, 2, 2, 3, 3]})
    designs = make_designs(
        ["alpha ~ 1 + C(`level (of 3)`) + scale(handed)", "beta ~ `level (of 3)`"], people, SUBJECTS, PARAMETERS
    )
    alpha = designs["alpha"]
    assert alpha.columns == ("C(level (of 3))[T.2]", "C(level (of 3))[T.3]", "scale(handed)")
    np.testing.assert_allclose(alpha.matrix[:, 2], np.array([-1, 2, -1, -1, 2, -1]) / np.sqrt(2))
    assert [contrast.name for contrast in alpha.contrasts][-1] == "scale(handed): +1 SD - mean"
    assert designs["beta"].columns == ("level (of 3)",)


def test_a_product_is_written_out() -> None:
    def written(text: str) -> list[str]:
        return [":".join(map(str, term)) for term in parse(text).terms]

    assert written("alpha ~ a*b") == written("alpha ~ a + b + a:b") == ["a", "b", "a:b"]
    assert written("alpha ~ a*b:c + d") == ["a", "d", "b:c", "a:b:c"]
    assert written("alpha ~ b:a + a:b + a:a") == ["a", "a:b"]


def test_a_group_in_which_nobody_is_left_is_named() -> None:
    with pytest.raises(InputError, match="covariate group: saw nobody left in group 'sibling'"):
        make_designs(["alpha ~ group"], PEOPLE, SUBJECTS[:4], PARAMETERS)


def test_someone_without_a_row_has_no_value() -> None:
    with pytest.raises(InputError, match=r"no value for 1 of 7 people: \['z'\]"):
        make_designs(["alpha ~ age"], PEOPLE, [*SUBJECTS, "z"], PARAMETERS)


def test_everything_is_said_at_once() -> None:
    with pytest.raises(InputError, match="covariate iq") as caught:
        make_designs(["alpha ~ iq + site", "gamma ~ age", "beta ~ exp(age)"], PEOPLE, SUBJECTS, PARAMETERS)
    assert [problem.where for problem in caught.value.problems] == [
        "formula 'gamma ~ age'",
        "formula 'beta ~ exp(age)'",
        "covariate iq",
        "covariate site",
    ]
