"""A study that is fitted in seconds, for trying what the documents show: four people, coarse fits, groups unsampled."""

import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from holmes_fit.fitting.cohort import fit
from holmes_fit.groups.pooling.sampling import Sampling
from holmes_fit.trials.reading import read_cohort
from tests.small_fits import OBSERVER, SMALL

ROOT = Path(__file__).resolve().parent.parent
PROTOCOL = "weather_prediction"
TRIALS = 60  # of each person
FEW_DRAWS = 100  # of each chain


def lay_out(folder: Path) -> Path:
    """Put the example data into a folder, the beginning of four people as ``pilot.csv``, and a small preset."""
    (folder / "data").mkdir()
    shutil.copy(ROOT / "data" / f"{PROTOCOL}.csv", folder / "data")
    everyone = pd.read_csv(folder / "data" / f"{PROTOCOL}.csv", dtype="str")
    first_two = everyone.drop_duplicates("subject").groupby("group").head(2)["subject"]
    chosen = everyone["subject"].isin(first_two) & (everyone["trial"].astype(int) <= TRIALS)
    everyone[chosen].to_csv(folder / "pilot.csv", index=False)
    (folder / "small.toml").write_text(SMALL)
    return folder


def fit_pilot(folder: Path) -> None:
    """Fit these four with flat and HOLMES into ``runs/pilot``."""
    cohort = read_cohort(folder / "pilot.csv", PROTOCOL)
    fit(
        cohort,
        ["flat", "holmes"],
        folder / "runs" / "pilot",
        preset=folder / "small.toml",
        observer=OBSERVER,
        workers=1,
    )


def draw_groups_from_their_priors(patch: pytest.MonkeyPatch) -> None:
    """Let every group be a draw from about the middle of its prior: NUTS, which takes longer, has tests of its own."""
    from holmes_fit.groups.pooling.density import Density
    from holmes_fit.groups.posteriors import Posterior, draws_of, posterior_of

    def nuts(density: Density, sampling: Sampling, on_step: object = None) -> Posterior:
        shape = (sampling.chains, FEW_DRAWS)
        points = density.middle + np.random.default_rng(1).normal(0, 0.5, size=(*shape, len(density.middle)))
        stats = {"diverging": np.zeros(shape, dtype=bool)}
        draws = draws_of(density.variables(points), density.coords, density.dims)
        return posterior_of({"posterior": draws, "sample_stats": draws_of(stats)})

    patch.setattr(import_module("holmes_fit.groups.pooling.sampling"), "nuts", nuts)
