"""Formulas and covariates: designs, contrasts, and a message for everything that cannot be used."""

import numpy as np
import pandas as pd
import pytest

from holmes_fit._support.errors import InputError
from holmes_fit.groups.pooling.covariates import make_designs

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
        (["alpha ~ group +"], r"Operator `\+` has insuff"),
        (["group"], "not one parameter before ~"),
        (["alpha ~ group | age"], "several parts after ~"),
        (["alpa ~ group"], "saw 'alpa'; allowed: a free parameter: alpha, omega, beta. Did you mean 'alpha'"),
        (["alpha ~ group", "alpha ~ age"], "a second formula for alpha"),
        (["alpha ~ 0 + group"], "no intercept"),
        (["alpha ~ np.log(age)"], r"saw 'np.log\(age\)'; allowed: names of covariates"),
        (["alpha ~ 1"], "no covariates"),
        (["alpha ~ grup"], "covariate grup: saw 'grup'.*Did you mean 'group'"),
        (["alpha ~ iq"], r"covariate iq: saw no value for 2 of 6 people: \['b', 'e'\]"),
        (["alpha ~ site"], "covariate site: saw 'x' for everyone; allowed: a covariate that differs"),
        (["alpha ~ age + months"], "columns that say the same: age, months"),
    ],
)
def test_what_cannot_be_used_is_said(formulas: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_designs(formulas, PEOPLE, SUBJECTS, PARAMETERS)


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
