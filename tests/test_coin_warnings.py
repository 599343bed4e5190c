"""People whom a model explains no better than a coin are named in the tables, by the command and in the report."""

import math

import numpy as np
import pandas as pd
import pytest

from holmes_fit.cli.fit import _coin_lines, ending
from holmes_fit.fitting.cohort import Fits, fit
from holmes_fit.fitting.person import NO_BETTER
from holmes_fit.fitting.summary import model_summary
from holmes_fit.reporting.run_data import read_data
from holmes_fit.reporting.warnings import warned
from tests.small_fits import OBSERVER, people, small_preset, with_choices

TOSSED = ["s01", "s03"]


@pytest.fixture(scope="module")
def fits(tmp_path_factory: pytest.TempPathFactory) -> Fits:
    """Three people who predict the weather, two of whom toss a coin."""
    folder = tmp_path_factory.mktemp("coins")
    cohort = people(3, "weather_prediction", seed=1)
    rng = np.random.default_rng(4)
    for name in TOSSED:
        coin = pd.Series(rng.integers(0, 2, int((cohort.trials["subject"] == name).sum())), dtype="Int8")
        cohort = with_choices(cohort, coin.array, name)
    preset = small_preset(folder)
    models = ("flat", "rescorla_wagner")
    return fit(cohort, models, folder / "run", preset=preset, observer=OBSERVER, workers=1, progress=False)


def test_the_tables_name_them(fits: Fits) -> None:
    named = fits.models["warning"].str.contains(NO_BETTER)
    assert fits.models.loc[named, "subject"].tolist() == TOSSED
    assert set(fits.models.loc[named, "model"]) == {"flat"}  # a baseline is not expected to be better
    below = fits.models["log_evidence"] - fits.models["n_answered"] * math.log(0.5)
    assert (below[named] < 0).all()
    assert f"its evidence is {-below[named].iloc[0]:.1f} nats below" in fits.models.loc[named, "warning"].iloc[0]
    estimates = fits.parameters[fits.parameters["warning"].str.contains(NO_BETTER)]
    assert set(estimates["subject"]) == set(TOSSED)


def test_the_command_and_the_report_name_them(fits: Fits) -> None:
    summary = model_summary(fits)
    assert summary.set_index("model")["no_better"].to_dict() == {"flat": 2, "rescorla_wagner": 0}
    said = "\n".join(ending(fits, summary))
    assert "flat: the answers of 2 people (s01, s03) are explained no better than a coin would." in said
    (warning,) = (text for text in warned(read_data(fits), "answers").texts if "coin" in text)
    assert warning == "Answers that a fair coin explains as well: flat for 2 of 3 people (s01, s03)."


def test_a_model_that_is_no_better_for_everyone_is_named(fits: Fits) -> None:
    (line,) = _coin_lines(fits.models[fits.models["subject"].isin(TOSSED)])
    assert line.endswith("no better than a coin would; nor are the answers of all 2 together.")


def test_ratings_are_held_against_ratings_without_sense() -> None:
    """Of which there are more than two: what is likely is less so than the toss of a coin."""
    chance = 20 * math.log(1 / 101)
    models = pd.DataFrame({"subject": ["s1", "s2"], "model": "flat", "n_answered": 20, "log_evidence": chance + 5})
    models = models.assign(log_likelihood=chance + 9, pseudo_r2=-9 / chance, warning=["", f"{NO_BETTER}: so"])
    (line,) = _coin_lines(models)
    assert line == "flat: the answers of 1 person (s2) are explained no better than a coin would."
