"""A recovery study in a folder: simulate, fit, pool, compare with the truth, draw."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from os import PathLike
from pathlib import Path

import pandas as pd

from holmes_fit._support.errors import InputError, Problem
from holmes_fit._support.progress import OnProgress, Watched
from holmes_fit.fitting.cohort import Fits, check_workers, do_in
from holmes_fit.groups.pooling.sampling import Sampling
from holmes_fit.models.registry import Observer
from holmes_fit.runs.folder import HasRun, Run, read_run, run_of
from holmes_fit.runs.manifest import MANIFEST
from holmes_fit.runs.records import Key
from holmes_fit.runs.workers.pool import Failure
from holmes_fit.settings.preset import Preset
from holmes_fit.studies.recovery.choosing import confusion_table, evidences_of, model_table
from holmes_fit.studies.recovery.estimates import error_table, people_table, person_ranks, recovery_table, sbc_summary
from holmes_fit.studies.recovery.figures import draw_figures
from holmes_fit.studies.recovery.findings import in_words
from holmes_fit.studies.recovery.group_study import GroupSetup, carry_out_groups, group_ranks
from holmes_fit.studies.recovery.people import truth_table
from holmes_fit.studies.recovery.pooled import EVERYONE, mixture_of, pool_study, pooled_table, pooling_keys
from holmes_fit.studies.recovery.power import power_table
from holmes_fit.studies.recovery.results import (
    GROUPS,
    SUMMARY,
    Recovery,
    Tally,
    cohort_folder,
    fit_cohorts,
    inputs_of,
    size_of,
    write_text,
)
from holmes_fit.studies.recovery.setup import RecoverySetup, set_up_recovery
from holmes_fit.trials.cohorts import Cohort
from holmes_fit.trials.protocols.schema import Protocol

FOLDER = "recovery"  # within the run that a study is about


def recover(
    protocol: Protocol | str | Path | None = None,
    *,
    like: Cohort | None = None,
    from_run: str | PathLike[str] | Run | HasRun | None = None,
    models: Sequence[str] | None = None,
    subjects: int | None = None,
    groups: int = 0,
    out: str | PathLike[str] | None = None,
    preset: str | Path | Preset | None = None,
    fix: Mapping[str, float] | None = None,
    population: Mapping[str, float | str] | None = None,
    seed: int = 0,
    observer: Observer | None = None,
    sampling: Sampling | None = None,
    workers: int | None = None,
    dask: str | None = None,
    progress: Watched = True,
) -> Recovery:
    """Simulate people, fit them, and compare what was found with the truth.

    Each model simulates a cohort, and everyone is fitted with every model, with draws that differ from those of the
    simulation. Stopped at any moment, the same call with the same ``out`` goes on where it was.

    Parameters
    ----------
    protocol
        Where trials come from: a protocol with a generator, its name, or the path of a TOML file.
    like
        Instead, a cohort whose people's trials are copied, one person after the other, with its missed answers.
    from_run
        Instead, a fitted run: its trials are copied, and parameters are draws from its people's posteriors.
    models
        Names from ``holmes_fit.MODELS``; ``flat`` and ``holmes`` by default, or the latent-cause models of the run.
    subjects
        The people that each model simulates: 100, or as many as the run has.
    groups
        Groups to draw from the prior of the group model, to calibrate pooling: 200 say much, and take long. Each is a
        small cohort on the trials of the first person. None by default.
    out
        The folder of the study: a new one, or one in which the same was begun. ``recovery`` in the folder of the run
        by default.
    preset, fix
        How fits are run, as for :func:`holmes_fit.fit`; as in the run by default.
    population
        How parameters are spread over people, where it is not the fitting prior: a number, or a text such as
        ``"loguniform:0.1,3"``. Then coverage and calibration cannot be judged.
    seed
        Chooses all draws.
    observer
        How filters are run, of people and of fits alike; as in the run by default.
    sampling
        How groups are sampled.
    workers, dask
        As for :func:`holmes_fit.fit`.
    progress
        Whether to show how much is done, in a terminal or a notebook; or what is called with the number of pieces of
        work that are done, and their total: fits and groups.

    Returns
    -------
    Recovery
        The tables, of which ``parameters`` and ``confusion`` come first, and the folder with them and the figures.

    Raises
    ------
    InputError
        If an argument cannot be used, or the folder holds something else.
    HolmesFitError
        If results cannot be written, or the process of a fit died every time that it was tried.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> study = hf.recover(from_run="runs/pilot", workers=1)  # people like those of the run, on their trials
    >>> study.folder.name
    'recovery'
    >>> study.people[["model", "subject", "parameter", "truth", "mean", "pooled", "covered"]].shape
    (32, 7)
    >>> sorted(study.confusion["criterion"].unique())
    ['evidence', 'pooled']
    """
    check_workers(workers, dask)
    folder = default_folder(out, from_run)
    setup = set_up_recovery(
        protocol,
        like=like,
        from_run=from_run,
        models=models,
        subjects=subjects,
        groups=groups,
        preset=preset,
        fix=fix,
        population=population,
        seed=seed,
        observer=observer,
        sampling=sampling,
    )
    names = ("recover", "recovering")
    return Recovery(do_in(folder, setup, carry_out_study, names, progress, workers=workers, dask=dask))


def default_folder(
    out: str | PathLike[str] | None, from_run: str | PathLike[str] | Run | HasRun | None
) -> str | PathLike[str]:
    """Return where a study goes: where it is asked for, or into the run that it is about."""
    if out is not None:
        return out
    if from_run is None:
        raise InputError([Problem("argument out", "nothing", "the folder of the study")])
    return run_of(from_run).root / FOLDER


def carry_out_study(
    setup: RecoverySetup,
    run: Run,
    *,
    workers: int | None = None,
    dask: str | None = None,
    progress: OnProgress | None = None,
) -> dict[Key, Failure]:
    """Do what is missing of a study, then write all tables and figures; return the fits whose processes died.

    If there are any, there are no tables.
    """
    if setup.groups is not None:
        with setup.groups.open(run.root / GROUPS):
            pass  # another number of groups is refused here, and not after all the fits
    of_groups = 0 if setup.groups is None else len(setup.groups.keys)
    tally = Tally(progress, size_of(setup.fits) + len(pooling_keys(setup.models)) + of_groups)
    fits, lost = fit_cohorts(setup.fits, run.root, "holmes-fit recover", tally, workers, dask)
    if lost:
        return lost
    with ExitStack() as stack:  # pooling writes into the folders of the cohorts
        for model, own in setup.fits.items():
            fits[model] = Fits(stack.enter_context(own.open(cohort_folder(run.root, model))))
        pool_study(run, fits, setup.prior, setup.sampling, tally.one)
    ranks_of_groups = _calibrate_groups(setup, run, workers, dask, tally)
    with run.together("recover", inputs_of(fits)) as staged:
        staged.write_table("truth.csv", truth_table(setup.everyone, next(iter(setup.fits.values())).response))
        write_tables(setup, staged, fits, ranks_of_groups)
        draw_figures(Recovery(staged))
        write_text(staged, SUMMARY, in_words(Recovery(staged)))
    return {}


def _calibrate_groups(
    setup: RecoverySetup, run: Run, workers: int | None, dask: str | None, tally: Tally
) -> pd.DataFrame | None:
    folder = run.root / GROUPS
    if setup.groups is None:  # those that were asked for when the same study was made before, if all of them are there
        if not (folder / MANIFEST).exists() or (own := read_run(folder)).progress().missing:
            return None
        return group_ranks(GroupSetup(next(iter(setup.fits.values())), 0), own)
    with setup.groups.open(folder) as own:
        told = tally.part(len(setup.groups.keys))
        carry_out_groups(setup.groups, own, workers=workers, dask=dask, progress=told)
        return group_ranks(setup.groups, own)


def write_tables(
    setup: RecoverySetup, run: Run, fits: Mapping[str, Fits], ranks_of_groups: pd.DataFrame | None = None
) -> None:
    """Compare everything with the truth, and write the tables of a study."""
    people = pd.concat(
        [people_table(setup.truths[model], own, pooled_table(run, model, own)) for model, own in fits.items()],
        ignore_index=True,
    )
    ranks = [person_ranks(setup.truths[model], own, setup.seed) for model, own in fits.items()]
    tests = [sbc_summary(pd.concat(ranks), setup.follows_prior)]
    if ranks_of_groups is not None:  # they are drawn from the prior of the group model, wherever people come from
        ranks.append(ranks_of_groups)
        tests.append(sbc_summary(ranks_of_groups))
    evidence = {model: evidences_of(own, setup.models) for model, own in fits.items()}
    mixtures = {model: mixture_of(run, model) for model in setup.models}
    tables = {
        "recovery_people.csv": people,
        "recovery.csv": recovery_table(people, setup.seed),
        "error_correlations.csv": error_table(people, setup.seed),
        "confusion.csv": confusion_table(fits, mixture_of(run, EVERYONE), setup.seed),
        "model_recovery.csv": model_table(fits, mixtures, setup.seed),
        "power.csv": power_table(evidence, setup.seed),
        "sbc.csv": pd.concat(ranks, ignore_index=True),
        "sbc_summary.csv": pd.concat(tests, ignore_index=True),
    }
    for name, table in tables.items():
        run.write_table(name, table)
