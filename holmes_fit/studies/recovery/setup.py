"""What a recovery study does, checked before any work begins: who is simulated, and how they are fitted."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path

import pandas as pd

from holmes_fit._support.errors import Problems, Quoted, check_kind
from holmes_fit.fitting.request import Request, request_fit
from holmes_fit.groups.pooling.priors import GroupPrior, prior_of
from holmes_fit.groups.pooling.sampling import Sampling, sampling_of
from holmes_fit.models.registry import Observer, check_count
from holmes_fit.models.responses.registry import response_of
from holmes_fit.runs.fitted import FittedRun, fitted_run
from holmes_fit.runs.folder import HasRun, Run, open_run
from holmes_fit.runs.identity import code_identity
from holmes_fit.settings.distributions import Distribution
from holmes_fit.settings.pooling import PoolingSettings
from holmes_fit.settings.preset import Preset
from holmes_fit.studies.recovery.group_study import GroupSetup, set_up_groups
from holmes_fit.studies.recovery.people import (
    Copied,
    Generated,
    Origin,
    Sequences,
    Truth,
    check_population,
    draw_truths,
    follows_prior,
    posterior_truths,
    simulate_people,
)
from holmes_fit.studies.recovery.pooled import pooling_keys
from holmes_fit.studies.simulation import with_generator
from holmes_fit.trials.cohorts import Cohort
from holmes_fit.trials.protocols.schema import Protocol

MODELS_BY_DEFAULT = ("flat", "holmes")
SUBJECTS = 100
KIND = "recovery"
SHARED = ("protocol", "preset", "models", "seed", "observer")  # with what fits depend on


@dataclass(frozen=True)
class RecoverySetup:
    """A recovery study. Get one from :func:`set_up_recovery`, which checks it."""

    truths: Mapping[str, Sequence[Truth]]  # the people, by the model that they follow
    origin: Origin  # where their parameters come from
    population: Mapping[str, Distribution]  # those of their parameters that are not drawn from the fitting prior
    fits: Mapping[str, Request]  # of everyone with all models; a cohort for each model that people follow
    prior: GroupPrior  # of the models of groups
    sampling: Sampling
    groups: GroupSetup | None  # the cohorts by which pooling is calibrated, if it is
    seed: int

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(self.fits)

    @property
    def everyone(self) -> list[Truth]:
        return [truth for truths in self.truths.values() for truth in truths]

    @cached_property
    def follows_prior(self) -> dict[str, bool]:
        """By model, whether its truths are drawn from the fitting prior, so that calibration can be judged."""
        if self.origin == "posterior":
            return dict.fromkeys(self.models, False)
        return {model: follows_prior(request.spaces[model], self.population) for model, request in self.fits.items()}

    @property
    def label(self) -> str:
        """What a reader must be told about all of the results; empty if nothing."""
        return next(iter(self.fits.values())).label

    def open(self, out: str | PathLike[str], command: str = "holmes_fit.recover") -> AbstractContextManager[Run]:
        """Open the folder of the study, a new one or one in which the same was begun."""
        about = {**next(iter(self.fits.values())).about(command), "follows_prior": self.follows_prior}
        return open_run(out, identity=self.identity(), about=about, keys=pooling_keys(self.models))

    def identity(self) -> dict[str, object]:
        """Return everything that the results depend on."""
        first = next(iter(self.fits.values())).identity()
        return {
            "kind": KIND,
            "trials": {model: request.identity()["trials"] for model, request in self.fits.items()},
            "subjects": {model: len(truths) for model, truths in self.truths.items()},
            "truths": self.origin,
            "population": {name: str(population) for name, population in self.population.items()},
            "group_prior": asdict(self.prior),
            "sampling": {name: value for name, value in asdict(self.sampling).items() if name != "cores"},
            **{name: first[name] for name in (*SHARED, "model_files") if name in first},
            **code_identity(),
        }


def set_up_recovery(
    protocol: Protocol | str | Path | None = None,
    *,
    like: Cohort | None = None,
    from_run: str | PathLike[str] | Run | HasRun | None = None,
    models: Sequence[str] | None = None,
    subjects: int | None = None,
    groups: int = 0,
    preset: str | Path | Preset | None = None,
    fix: Mapping[str, float] | None = None,
    population: Mapping[str, float | str] | None = None,
    seed: int = 0,
    observer: Observer | None = None,
    sampling: Sampling | None = None,
) -> RecoverySetup:
    """Check what is asked for, and simulate the people. The parameters are those of :func:`holmes_fit.recover`."""
    problems = Problems()
    if subjects is not None:
        check_count("subjects", subjects, problems)
    check_count("groups", groups, problems, least=0)
    check_count("seed", seed, problems, least=0)
    if from_run is not None and population:
        problems.add("argument population", population, "nothing, as the values come from the fitted run")
    check_kind("sampling", sampling, Sampling | None, "a Sampling", problems)
    sources = {"protocol": protocol, "like": like, "from_run": from_run}
    given = [name for name, value in sources.items() if value is not None]
    if len(given) != 1:
        problems.add("arguments protocol, like, from_run", Quoted(" and ".join(given) or "nothing"), "one of them")
    problems.raise_if_any()
    fitted = None if from_run is None else fitted_run(from_run)
    if fitted is not None and fitted.by:
        seen = Quoted(f"a run whose parameters differ by {fitted.by}")
        advice = "holmes-fit simulate --conditions makes people with known contrasts, to be fitted likewise."
        problems.add("argument from_run", seen, "a run with one set of parameters a person", advice)
        problems.raise_if_any()
    if not preset:
        preset = "default" if fitted is None else fitted.preset
    sequences = _sequences(protocol, like, fitted, seed)
    chosen: Sequence[str] = MODELS_BY_DEFAULT
    if fitted is not None:  # those with latent causes, or all if there are none
        chosen = [name for name in fitted.models if fitted.model(name).uses_particles] or fitted.models
    template = request_fit(
        Cohort(sequences.protocol, pd.DataFrame(), (), pd.DataFrame()),  # nobody is simulated before all is checked
        chosen if models is None else models,
        preset=preset,
        fix=fix,
        seed=seed,
        observer=observer or (Observer() if fitted is None else fitted.observer),
    )
    spread = check_population(population or {}, template.models, response_of(sequences.protocol), problems)
    if fitted is not None:
        _check_fitted(fitted, [model.name for model in template.models], problems)
    problems.raise_if_any()
    names = like.subjects["subject"].astype(str).tolist() if like is not None else []
    truths = {}
    for model in template.models:
        if fitted is not None:
            truths[model.name] = posterior_truths(fitted, model.name, subjects, seed=seed)
        else:
            n = SUBJECTS if subjects is None else subjects
            space = template.spaces[model.name]
            truths[model.name] = draw_truths(space, n, seed=seed, population=spread, like=names)
    origin: Origin = "posterior" if fitted else "population" if spread else "prior"
    fits = {name: replace(template, cohort=_cohort(people, sequences, template)) for name, people in truths.items()}
    of_groups = set_up_groups(next(iter(fits.values())), groups) if groups else None
    prior = prior_of(template.preset.pooling)
    return RecoverySetup(truths, origin, spread, fits, prior, sampling or _sampling(template), of_groups, seed)


def _sampling(request: Request) -> Sampling:
    """Return how the preset has groups sampled; for a first look, no longer than a first look needs."""
    said = request.preset.pooling
    if request.label and said == PoolingSettings():
        return Sampling(chains=2, tune=300, draws=500, seed=request.seed)
    return sampling_of(said, request.seed)


def _cohort(people: Sequence[Truth], sequences: Sequences, request: Request) -> Cohort:
    """Simulate people who are such observers as the fit takes them to be."""
    likelihood = request.preset.likelihood
    averaged = likelihood.replicates if likelihood.kind == "expected" else 1
    return simulate_people(people, sequences, seed=request.seed, observer=request.observer, averaged=averaged)


def _sequences(
    protocol: Protocol | str | Path | None, like: Cohort | None, fitted: FittedRun | None, seed: int
) -> Sequences:
    if fitted is not None:
        return Copied(fitted.cohort)
    if like is not None:
        return Copied(like)
    assert protocol is not None
    problems = Problems()
    loaded = with_generator(protocol, problems, "Or give data whose trials are to be copied.")
    problems.raise_if_any()
    return Generated(loaded, seed)


def _check_fitted(fitted: FittedRun, models: Sequence[str], problems: Problems) -> None:
    for name in models:
        if name not in fitted.models:
            problems.add("argument models", name, f"a model of the run: {', '.join(fitted.models)}")
        elif not fitted.people(name):
            advice = "Give the command of the fit again, and it goes on where it was."
            problems.add(f"model {name}", Quoted("nobody who was fitted with it"), "a complete run", advice)
