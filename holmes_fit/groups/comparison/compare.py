"""Which model describes these people: the mixture, and everything that stands beside it in one table."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from holmes_fit._support.errors import Problems, Quoted, nearest
from holmes_fit._support.notebooks import InNotebook
from holmes_fit._support.progress import OnBegin, watched_steps
from holmes_fit.groups.comparison.answers import FittedModel
from holmes_fit.groups.comparison.by_condition import ConditionComparison, compare_conditions
from holmes_fit.groups.comparison.families import Families, families_of
from holmes_fit.groups.comparison.groups import groups_of
from holmes_fit.groups.comparison.omnibus import RandomEffects, frequencies_by_group
from holmes_fit.groups.comparison.prediction import LeftOut, leave_one_out
from holmes_fit.groups.comparison.predictive import draws_digest, individual_draws, predictive_checks
from holmes_fit.groups.comparison.prior_sensitivity import prior_sensitivity
from holmes_fit.groups.comparison.tables import (
    checks_table,
    difference_table,
    frequency_table,
    models_table,
    people_table,
)
from holmes_fit.groups.pooling.lattices import Lattices, check_same_people, load_lattices
from holmes_fit.groups.pooling.mixture import Mixture, check_mixture, mix_models
from holmes_fit.groups.pooling.pool import check_enough, pool_people
from holmes_fit.groups.pooling.priors import GroupPrior
from holmes_fit.groups.pooling.results import INPUTS, check_group_model, listed, pool, read_pooled, to_arviz
from holmes_fit.groups.pooling.sampling import Diagnostics, Sampling, counted, diagnose
from holmes_fit.groups.posteriors import Posterior, read_posterior, write_posterior
from holmes_fit.models.registry import check_count
from holmes_fit.runs.fitted import FittedRun, fitted_run
from holmes_fit.runs.folder import HasRun, Run
from holmes_fit.runs.sets import check_sets

MIXTURE = "mixture.nc"
SIMULATED = "simulated"  # what predictive checks were made from, among the attributes of the mixture
DATASETS = 100  # simulated cohorts in posterior predictive checks


@dataclass(frozen=True, kw_only=True)
class Frequencies(RandomEffects):
    """How frequent models are: over everyone, and in each group."""

    groups: tuple[str, ...]  # their names; none if the people are not divided
    group_of: NDArray[np.intp]  # everyone's group, by number
    by_group: NDArray[np.float64]  # draws x groups x models


@dataclass(frozen=True)
class Comparison(InNotebook):
    """What was found about the models of a run. Tables are those of the run folder."""

    main_table: ClassVar = (
        *("models", "model", "frequency", "frequency_lower", "frequency_upper", "protected_exceedance"),
        *("likeliest_for", "most_evidence_for", "log_evidence", "log_evidence_error", "hit_rate"),
    )

    run: Run  # the run folder
    mixture: Mixture  # the mixture of the models that compete
    shares: Frequencies  # how frequent they are
    families: Families  # the same of their families
    left_out: Mapping[str, LeftOut]  # by model, how well its group predicts someone who is left out
    fits: pd.DataFrame  # ``models.csv`` of the run, for the people who are compared
    checks: pd.DataFrame  # posterior predictive checks
    check_summary: pd.DataFrame
    diagnostics: Mapping[str, Diagnostics]  # by model, whether NUTS has done its work for its group
    notes: tuple[str, ...] = ()  # what else a reader must know

    def __repr__(self) -> str:  # in a notebook; the arrays would take pages
        return f"<Comparison: {', '.join(self.mixture.models)}, {len(self.mixture.subjects)} people>"

    models = cached_property(models_table)  # ``comparison.csv``
    people = cached_property(people_table)  # ``model_probabilities.csv``
    frequencies = cached_property(frequency_table)  # ``frequencies.csv``
    differences = cached_property(difference_table)  # ``frequency_differences.csv``

    @cached_property
    def prior_sensitivity(self) -> pd.DataFrame:
        """``prior_sensitivity.csv``: a row for each model of the mixture and width of the fitting priors."""
        return prior_sensitivity(self.mixture.lattices)

    @property
    def idata(self) -> Posterior:
        """The posterior of the mixture, for ArviZ."""
        return self.mixture.idata

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before using the results; nothing if all is well."""
        groups = [f"group of {name}: {text}" for name, own in self.diagnostics.items() for text in own.warnings]
        left_out = [
            f"leaving people out of {name} cannot be told from its draws for {found.n_high} of {len(found.k)} people "
            "(Pareto k above 0.7)"
            for name, found in self.left_out.items()
            if found.n_high
        ]
        return [*self.mixture.warnings, *groups, *left_out, *self.notes]

    @property
    def converged(self) -> bool:
        """Whether NUTS has done its work, for the mixture and for the group of every model."""
        return not any(each.warnings for each in (self.mixture.diagnostics, *self.diagnostics.values()))


def compare(
    run: str | PathLike[str] | Run | HasRun,
    models: Sequence[str] | None = None,
    *,
    by: str | None = None,
    leave_out: Collection[str] = (),
    prior: GroupPrior | None = None,
    sampling: Sampling | None = None,
    datasets: int = DATASETS,
    workers: int | None = None,
    progress: OnBegin | bool = True,
) -> Comparison | ConditionComparison:
    """Compare the models of a run, and write the results into its folder.

    The headline is a mixture: everyone follows one of the models, frequencies are unknown, and within a model people
    are distributed as in its group. What was sampled or simulated before from the same fits, with the same settings
    and versions, is not sampled or simulated again. Models are also compared as families, such as those with latent
    causes and those with exemplars. Files are ``comparison.csv``, ``model_probabilities.csv``, ``frequencies.csv``,
    ``frequency_differences.csv``, ``families.csv``, ``prior_sensitivity.csv``, ``mixture.csv``, ``mixture.nc``,
    ``predictive.csv`` and ``predictive_summary.csv``.

    Parameters
    ----------
    run
        What :func:`holmes_fit.fit` has returned, or the run folder.
    models
        The models of the mixture, two or more; by default all models of the run, baselines among them. What is found
        holds among these models. The others stand beside them in the table.
    by
        The covariate whose groups are compared; by default the first that divides people into a few groups.
    leave_out
        People who are left out of everything.
    prior, sampling
        What is held likely of a group (a ``GroupPrior``), and how NUTS is run (a ``Sampling``).
    datasets
        How many cohorts are simulated for posterior predictive checks.
    workers
        Processes, all usable cores by default. Results do not depend on it.
    progress
        Whether to show how much is done, in a terminal or a notebook; or what is called with what is begun, and may
        return what is called with how much of it is done, and the total.

    Returns
    -------
    Comparison
        The tables ``models``, ``people``, ``frequencies`` and ``differences``, ``idata`` for ArviZ, and ``warnings``.
        Of a run whose parameters differ between conditions, a ``ConditionComparison``: by the evidences of single
        people, in each condition and in all together, with ``models``, ``people``, ``differences`` and ``warnings``.

    Raises
    ------
    InputError
        If the run is not complete, models were fitted on different people, or an argument cannot be used.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> found = hf.compare("runs/pilot", datasets=20, workers=1)
    >>> found.models.set_index("model")["frequency"].sum().round(6)
    np.float64(1.0)
    >>> found.people.pivot(index="subject", columns="model", values="probability").shape
    (4, 2)
    >>> found.frequencies["group"].unique().tolist()
    ['everyone', 'control', 'patient']
    >>> found.idata.posterior["frequency"].dims  # for ArviZ
    ('chain', 'draw', 'group', 'model')
    """
    fitted = fitted_run(run)
    problems = Problems()
    leave_out = listed("leave_out", leave_out, problems)
    named = None if models is None else listed("models", models, problems)
    check_group_model(prior, sampling, problems)
    check_count("datasets", datasets, problems, least=2)
    if workers is not None:
        check_count("workers", workers, problems)
    if fitted.by and by is not None:
        problems.add("argument by", by, f"nothing, as parameters differ by {fitted.by}, and so models are compared")
    problems.raise_if_any()
    sampling = sampling or Sampling()
    with fitted.run.at_work() as own:
        fitted = FittedRun(own)
        if fitted.by:
            return compare_conditions(fitted, _chosen(named, fitted.models), leave_out, sampling.seed)
        return _compared(fitted, named, by, leave_out, prior, sampling, datasets, workers, progress)


def _compared(
    fitted: FittedRun,
    named: Sequence[str] | None,
    by: str | None,
    leave_out: Collection[str],
    prior: GroupPrior | None,
    sampling: Sampling,
    datasets: int,
    workers: int | None,
    progress: OnBegin | bool,
) -> Comparison:
    """Mix the models, and let all results appear together."""
    run, problems = fitted.run, Problems()
    lattices = {name: load_lattices(run, name, leave_out) for name in fitted.models}
    check_sets(run.root, ["fit"])
    chosen = _chosen(named, tuple(lattices))
    check_same_people(list(lattices.values()))
    groups, group_of, notes = groups_of(fitted.cohort, by, next(iter(lattices.values())).subjects)
    mixed = [lattices[name] for name in chosen]
    for each in mixed[:1]:
        check_enough(each, problems)
    problems.raise_if_any()
    check_mixture(mixed)
    inputs = [*INPUTS, *(["subjects.csv"] if groups else [])]
    with run.together("compare", inputs) as staged, watched_steps(progress) as begin:
        posteriors = _groups_of_models(run, lattices, leave_out, prior, sampling, begin)
        kept = read_posterior(run.path(MIXTURE))
        on_step = counted(begin("mixing the models"), sampling.steps)
        mixture = mix_models(mixed, prior=prior, sampling=sampling, kept=kept, on_step=on_step)
        draws = {
            name: individual_draws(posteriors[name]["individuals"])
            if name in posteriors
            else fitted.draws(name).without(leave_out)
            for name in lattices
        }
        simulated = draws_digest(fitted.run, draws, datasets, sampling.seed)
        if kept is not None and kept["posterior"].attrs.get(SIMULATED) == simulated:
            checks, summary = (fitted.run.read_table(f"predictive{part}.csv") for part in ("", "_summary"))
        else:
            of_models, on_person = [FittedModel.of(fitted, name) for name in draws], begin("simulating the people")
            checks, summary = predictive_checks(
                fitted.cohort, of_models, draws, datasets, sampling.seed, workers, on_person
            )
        mixture.idata["posterior"].attrs[SIMULATED] = simulated
        fits = run.read_table("models.csv")
        found = Comparison(
            run=run,
            mixture=mixture,
            shares=shares_of(mixture, groups, group_of),
            families=families_of(mixture, groups, group_of),
            left_out={
                # A model without free parameters learns nothing from anyone.
                name: leave_one_out(posteriors[name])
                if name in posteriors
                else LeftOut(each.highest, np.zeros_like(each.highest))
                for name, each in lattices.items()
            },
            fits=fits[fits["subject"].isin(mixture.subjects)].reset_index(drop=True),
            checks=checks,
            check_summary=summary,
            diagnostics={name: diagnose(each) for name, each in posteriors.items()},
            notes=notes,
        )
        write(found, staged)
    return found


def _groups_of_models(
    run: Run,
    lattices: Mapping[str, Lattices],
    leave_out: Collection[str],
    prior: GroupPrior | None,
    sampling: Sampling,
    begin: OnBegin,
) -> dict[str, Posterior]:
    """Return the group of every model that has parameters; pool them first if nothing is pooled."""
    grouped = {name: each for name, each in lattices.items() if each.axes}
    if grouped and not run.path("pooling.csv").exists():
        pool(run, leave_out=leave_out, prior=prior, sampling=sampling, progress=begin)
    return {name: _posterior(run, each, prior, sampling, begin) for name, each in grouped.items()}


def _posterior(run: Run, lattices: Lattices, prior: GroupPrior | None, sampling: Sampling, begin: OnBegin) -> Posterior:
    """Return the group of a model without covariates: as the run has it, or pooled now.

    What the run has from pooling others, or with covariates, stays as it is.
    """
    kept = read_pooled(run, lattices, prior)
    if kept is not None:
        return kept
    on_step = counted(begin(f"pooling {lattices.model}"), sampling.steps)
    return to_arviz(pool_people(lattices, prior=prior, sampling=sampling, on_step=on_step))


def shares_of(mixture: Mixture, groups: tuple[str, ...] = (), group_of: NDArray[np.intp] | None = None) -> Frequencies:
    """Return how frequent the models of a mixture are, over everyone and by group."""
    rng = np.random.default_rng([20, len(mixture.frequency)])
    everyone = mixture.frequency
    of_person = np.zeros(len(mixture.subjects), dtype=np.intp) if group_of is None else group_of
    found = RandomEffects.of(mixture.imputed, everyone, rng)
    by_group = np.empty((len(everyone), 0, everyone.shape[1]))
    if groups:
        by_group = frequencies_by_group(mixture.imputed, everyone, of_person, len(groups), rng)
    return Frequencies(**vars(found), groups=groups, group_of=of_person, by_group=by_group)


def write(found: Comparison, run: Run) -> None:
    """Write everything that was found into a run."""
    tables = {
        "comparison.csv": found.models,
        "model_probabilities.csv": found.people,
        "frequencies.csv": found.frequencies,
        "frequency_differences.csv": found.differences,
        "families.csv": found.families.table,
        "mixture.csv": checks_table(found),
        "prior_sensitivity.csv": found.prior_sensitivity,
        "predictive.csv": found.checks,
        "predictive_summary.csv": found.check_summary,
    }
    for name, table in tables.items():
        run.write_table(name, table)
    with run.writing(MIXTURE) as temporary:
        write_posterior(found.idata, temporary)


def _chosen(models: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    if models is None:
        return list(known)
    problems = Problems()
    for name in models:
        if name not in known:
            problems.add("models", name, f"models of the run: {', '.join(known)}", nearest(name, known))
    if len(set(models)) < len(models):
        problems.add("models", Quoted(", ".join(models)), "each model once")
    problems.raise_if_any()
    return list(models)
