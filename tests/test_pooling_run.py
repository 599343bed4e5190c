"""Pooling from a run folder: what a fit has written is read, and what was found is written beside it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from holmes_fit import simulate
from holmes_fit._support.errors import InputError
from holmes_fit.fitting.cohort import fit
from holmes_fit.groups.pooling.lattices import load_lattices
from holmes_fit.groups.pooling.results import pool
from holmes_fit.groups.pooling.sampling import Sampling
from holmes_fit.groups.posteriors import read_posterior
from holmes_fit.models.registry import MODELS
from holmes_fit.runs.fitted import FittedRun
from holmes_fit.runs.folder import Run, open_run, read_run
from holmes_fit.settings.preset import load_preset
from holmes_fit.trials.protocols.catalogue import load_protocol

SEED = 20262


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Four people with two models that are computed in no time, as they have no particles."""
    cohort = simulate("weather_prediction", "rescorla_wagner", subjects=4, seed=SEED).cohort
    folder = tmp_path_factory.mktemp("pooling") / "run"
    fit(cohort, ["bias", "rescorla_wagner"], folder, preset="quick", workers=1)
    return read_run(folder)


def test_lattices_are_read_as_they_were_written(fitted: Run) -> None:
    assert FittedRun(fitted).models == ("bias", "rescorla_wagner")
    lattices = load_lattices(fitted, "rescorla_wagner")
    assert lattices.names == ("learning_rate", "beta", "lapse")
    record = fitted.load_record(("rescorla_wagner", lattices.subjects[2]))
    assert record is not None
    np.testing.assert_array_equal(lattices.log_likelihood[2], record.arrays["log_likelihood"])
    for axis in lattices.axes:
        np.testing.assert_allclose(axis.positions, record.arrays[f"positions_{axis.name}"])
        np.testing.assert_allclose(axis.log_weights, record.arrays[f"log_prior_{axis.name}"], atol=1e-12)
    assert lattices.log_evidence[2] == record.facts["log_evidence"]


def test_unknown_models_and_people_are_named_at_once(fitted: Run) -> None:
    with pytest.raises(InputError, match="a model of the run: bias, rescorla_wagner"):
        load_lattices(fitted, "holmes")
    with pytest.raises(InputError, match="saw 'nobody'; allowed: someone who was fitted"):
        load_lattices(fitted, "bias", leave_out=["nobody"])


def test_a_text_is_one_name_and_not_its_letters(fitted: Run) -> None:
    with pytest.raises(InputError, match="saw 'holmes'; allowed: a model of the run"):
        pool(fitted, "holmes")
    with pytest.raises(InputError, match="saw 'nobody'; allowed: someone who was fitted"):
        pool(fitted, leave_out="nobody")
    with pytest.raises(InputError, match="formula 'alpha ~ group': saw 'alpha'"):
        pool(fitted, formulas="alpha ~ group")


def test_people_can_be_left_out(fitted: Run) -> None:
    everyone = load_lattices(fitted, "bias").subjects
    assert load_lattices(fitted, "bias", leave_out=[everyone[1]]).subjects == (everyone[0], *everyone[2:])
    with pytest.raises(InputError, match="saw 2 people; allowed: at least 3"):
        pool(fitted, ["bias"], leave_out=everyone[:2])


def test_a_run_with_nothing_free_has_nothing_to_pool(tmp_path: Path) -> None:
    cohort = simulate("conditioning", "bias", subjects=3, seed=SEED).cohort
    fits = fit(cohort, ["bias"], tmp_path / "run", preset="quick", fix={"choice_probability": 0.6}, workers=1)
    with pytest.raises(InputError, match="saw no model with free parameters; allowed: at least one"):
        pool(fits)
    with pytest.raises(InputError, match="saw no model; allowed: at least one"):
        pool(fits, [])


def test_a_formula_for_no_parameter_is_refused_before_anything_runs(fitted: Run) -> None:
    with pytest.raises(InputError, match="a free parameter: choice_probability, learning_rate, beta, lapse"):
        pool(fitted, formulas=["alpha ~ group"])


def test_fits_that_failed_or_are_missing_are_named(tmp_path: Path) -> None:
    preset = load_preset("quick")
    axis = preset.space(MODELS["bias"]).free[0]
    facts = {"log_evidence": -3.0, "log_evidence_error": 0.1, "log_evidence_bias": 0.0}
    arrays = {"log_likelihood": np.zeros(axis.nodes, np.float32), f"positions_{axis.name}": axis.positions}
    arrays |= {
        f"log_prior_{axis.name}": axis.log_weights,
        "of_sets": np.empty(0, np.float32),
        "draws": np.zeros((5, 1)),
    }
    arrays |= {f"coarse_{axis.name}": np.arange(0, axis.nodes, 2)}
    keys = [("bias", name) for name in ("a", "b", "c")]
    identity = {"kind": "fit", "models": ["bias"], "preset": preset.model_dump(mode="json", exclude_none=True)}
    with open_run(tmp_path / "run", identity=identity, about={}, keys=keys) as run:
        run.path("protocol.json").write_text(load_protocol("conditioning").model_dump_json(exclude_unset=True))
        run.save_record(keys[0], facts, arrays)
        run.save_record(keys[1], {}, error="all answers are missed")
    with pytest.raises(InputError, match="all answers are missed") as caught:
        load_lattices(run, "bias")
    missing, failed = caught.value.problems
    assert (missing.where, missing.seen) == ("model bias", "no fit of 1 of 3 people: ['c']")
    assert failed.where == "model bias, b"
    assert load_lattices(run, "bias", leave_out=["b", "c"]).subjects == ("a",)


@pytest.mark.slow
def test_results_are_written_into_the_run(fitted: Run) -> None:
    sampling = Sampling(chains=2, tune=200, draws=200, seed=SEED, cores=1)
    found = pool(fitted, ["bias"], sampling=sampling)
    group = fitted.read_table("group.csv")
    assert list(group["quantity"]) == ["mean", "median", "spread"]
    people = fitted.read_table("pooled.csv", ("subject",))
    assert list(people["subject"]) == list(found["bias"].lattices.subjects)
    assert np.all((people["lower"] < people["median"]) & (people["median"] < people["upper"]))
    assert isinstance(fitted.read_table("pooling_prior.csv"), pd.DataFrame)
    back = read_posterior(fitted.path("pool_bias.nc"))
    assert back["posterior"].attrs["model"] == "bias"
    assert back["log_likelihood"]["choices"].shape == (2, 200, 4)


def test_a_manifest_with_another_preset_is_refused(fitted: Run) -> None:
    """A record holds the lattice that it was computed on, and that of the preset has to be the same."""
    identity: Any = dict(fitted.manifest.identity)
    preset = identity["preset"] | {"parameters": {"choice_probability": {"prior": "logitnormal:0.6,1", "nodes": 21}}}
    for changed, seen in ((preset, "another lattice of choice_probability"), ({}, "cannot be read")):
        manifest = replace(fitted.manifest, identity=identity | {"preset": changed})
        with pytest.raises(InputError, match=seen):
            load_lattices(replace(fitted, manifest=manifest), "bias")
