"""What is kept of pooling: tables for people, ArviZ's NetCDF for posteriors, and a summary in plain words."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from holmes_fit._support.errors import InputError, Problem, Problems, check_kind, nearest, plain
from holmes_fit._support.numbers import probability
from holmes_fit._support.progress import OnBegin, watched_steps
from holmes_fit.groups.pooling.behaviour import regress_behaviour
from holmes_fit.groups.pooling.lattices import Lattices, load_conditions, load_lattices
from holmes_fit.groups.pooling.paired import ConditionLattices
from holmes_fit.groups.pooling.paired_pool import PooledConditions, pool_conditions
from holmes_fit.groups.pooling.pool import DRAWS_OF_PERSON, Pooled, pool_people
from holmes_fit.groups.pooling.priors import GroupPrior, draw_prior
from holmes_fit.groups.pooling.sampling import Sampling, counted
from holmes_fit.groups.pooling.tables import checks_row, prior_table
from holmes_fit.groups.posteriors import Posterior, has_shapes, read_posterior, with_groups, write_posterior
from holmes_fit.models.registry import MODELS
from holmes_fit.runs.fitted import FittedRun, fitted_run
from holmes_fit.runs.folder import HasRun, Run
from holmes_fit.runs.sets import check_sets

BEHAVIOUR = "behaviour.csv"
INPUTS = ("fits.csv", "models.csv")  # what groups are made of, as far as a reader sees it
PRIOR_DRAWS = 500
JOINT = "a sample is of everyone, under one draw of the group"


def pool(
    run: str | PathLike[str] | Run | HasRun,
    models: Sequence[str] | None = None,
    *,
    formulas: Sequence[str] = (),
    leave_out: Collection[str] = (),
    prior: GroupPrior | None = None,
    sampling: Sampling | None = None,
    progress: OnBegin | bool = True,
) -> dict[str, Pooled | PooledConditions]:
    """Pool the people of a run, model by model, and write the results into its folder.

    What was sampled before from the same fits, with the same settings and versions, is not sampled again. Where
    parameters differ between conditions, people have effects of their own in all of them, so that contrasts are paired
    within people. Files are ``group.csv``, ``pooled.csv``, ``pooling.csv``, ``pooling_prior.csv``, for each model
    ``pool_MODEL.nc``, and with formulas ``behaviour.csv``: right answers regressed on the same covariates, without a
    model.

    Parameters
    ----------
    run
        What :func:`holmes_fit.fit` has returned, or the run folder.
    models
        Some of its models; all that have anything to pool by default.
    formulas
        Such as ``"alpha ~ group + age"``, with covariates from the run's ``subjects.csv``. A formula is used in all
        models that have its parameter.
    leave_out
        People who are not pooled.
    prior, sampling
        What is held likely of a group (a ``GroupPrior``), and how NUTS is run (a ``Sampling``).
    progress
        Whether to show how much is done, in a terminal or a notebook; or what is called with what is begun, and may
        return what is called with the steps that are done, and their total.

    Returns
    -------
    dict of str to Pooled
        By model: the tables ``group`` and ``people``, ``idata`` for ArviZ, and ``warnings``.

    Raises
    ------
    InputError
        If the run is not complete, there are too few people, or a formula or covariate cannot be used.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> pooled = hf.pool("runs/pilot", formulas=["alpha ~ group"])
    >>> holmes = pooled["holmes"]
    >>> holmes.group.query("quantity == 'contrast'")[["parameter", "name"]].to_records(index=False).tolist()
    [('alpha', 'group: patient - control')]
    >>> holmes.people["subject"].nunique()  # each person, in the light of the group
    4
    >>> holmes.idata.posterior["mean"].dims  # for ArviZ
    ('chain', 'draw', 'parameter')
    """
    fitted = fitted_run(run)
    run = fitted.run
    problems = Problems()
    formulas, leave_out = listed("formulas", formulas, problems), listed("leave_out", leave_out, problems)
    chosen = fitted.models if models is None else listed("models", models, problems)
    check_group_model(prior, sampling, problems)
    problems.raise_if_any()
    if fitted.by and formulas:
        advice = "Covariates are for people with one set of parameters."
        problems.add("argument formulas", list(formulas), f"none, as parameters differ by {fitted.by}", advice)
    problems.raise_if_any()
    with run.at_work() as own:
        loaded = _loaded(FittedRun(own), chosen, leave_out, formulas, skip=models is None)
        return _pooled(FittedRun(own), loaded, formulas, prior, sampling, progress)


def _loaded(
    fitted: FittedRun, models: Sequence[str], leave_out: Sequence[str], formulas: Sequence[str], skip: bool
) -> dict[str, Lattices | ConditionLattices]:
    """Return what is to be pooled; models without free parameters are skipped, or refused if they were named."""
    loaded: dict[str, Lattices | ConditionLattices] = {
        name: condition_lattices(fitted, name, leave_out) if fitted.by else load_lattices(fitted.run, name, leave_out)
        for name in models
    }
    if skip:
        loaded = {name: lattices for name, lattices in loaded.items() if lattices.axes}
    if not loaded:
        seen = "no model with free parameters" if skip else "no model"
        raise InputError([Problem("argument models", seen, "at least one that has something to pool")])
    check_sets(fitted.run.root, ["fit"])
    known, problems = list(dict.fromkeys(name for lattices in loaded.values() for name in lattices.names)), Problems()
    for text in formulas:
        if (seen := _left_side(text)) not in known:
            problems.add(f"formula {text!r}", seen, f"a free parameter: {', '.join(known)}", nearest(seen, known))
    problems.raise_if_any()
    return loaded


def _pooled(
    fitted: FittedRun,
    loaded: Mapping[str, Lattices | ConditionLattices],
    formulas: Sequence[str],
    prior: GroupPrior | None,
    sampling: Sampling | None,
    progress: OnBegin | bool,
) -> dict[str, Pooled | PooledConditions]:
    """Pool model by model, and let all results appear together."""
    run, cohort = fitted.run, fitted.cohort if formulas else None
    found: dict[str, Pooled | PooledConditions] = {}
    inputs = [*INPUTS, *(["trials.csv", "subjects.csv"] if formulas else [])]
    with run.together("pool", inputs) as staged, watched_steps(progress) as begin:
        for name, lattices in loaded.items():
            how: dict[str, Any] = {
                "prior": prior,
                "sampling": sampling,
                "kept": read_posterior(run.path(f"pool_{name}.nc")),
                "on_step": counted(begin(f"pooling {name}"), (sampling or Sampling()).steps),
            }
            if isinstance(lattices, ConditionLattices):
                found[name] = pool_conditions(lattices, **how)
            else:
                own = [text for text in formulas if _left_side(text) in lattices.names]
                people = None if cohort is None else cohort.subjects
                found[name] = pool_people(lattices, formulas=own, people=people, **how)
        write_pooled(staged, list(found.values()))
        if cohort is not None:
            pooled = next(iter(loaded.values())).subjects
            staged.write_table(BEHAVIOUR, regress_behaviour(cohort, formulas, pooled))
        # What an earlier pooling of other models, or by other formulas, has left beside the new tables goes.
        stale = [f"pool_{name}.nc" for name in MODELS if name not in found]
        for name in stale if cohort is not None else [*stale, BEHAVIOUR]:
            staged.remove(name)
    return found


def listed(argument: str, names: Iterable[str], problems: Problems) -> tuple[str, ...]:
    """Return names that were given; a text is one of them, and not its letters, although Python would say so."""
    given = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, Iterable) else (None,)
    if all(isinstance(name, str) for name in given):
        return given
    problems.add(f"argument {argument}", names, "names, each of them a text")
    return ()


def check_group_model(prior: GroupPrior | None, sampling: Sampling | None, problems: Problems) -> None:
    """Refuse what is no prior of a group, or says nothing about sampling."""
    check_kind("prior", prior, GroupPrior | None, "a GroupPrior", problems)
    check_kind("sampling", sampling, Sampling | None, "a Sampling", problems)


def _left_side(formula: str) -> str:
    return formula.partition("~")[0].strip()


def write_pooled(run: Run, pooled: Sequence[Pooled | PooledConditions]) -> None:
    """Write what was found about some models into the run folder."""
    tables = {
        "group.csv": pd.concat([each.group for each in pooled], ignore_index=True),
        "pooled.csv": pd.concat([each.people for each in pooled], ignore_index=True),
        "pooling.csv": pd.DataFrame([checks_row(each) for each in pooled]),
        "pooling_prior.csv": pd.concat([prior_table(each) for each in pooled], ignore_index=True),
    }
    for name, table in tables.items():
        run.write_table(name, table)
    for each in pooled:
        name = f"pool_{each.model}.nc"
        if not each.is_new:  # its file is what the draws were read from
            continue
        with run.writing(name) as temporary:
            write_posterior(to_arviz(each), temporary)


def to_arviz(pooled: Pooled | PooledConditions) -> Posterior:
    """Return everything about a group for ArviZ.

    Beside what NUTS has sampled: ``log_likelihood`` of every person, for leave-one-subject-out; ``prior``; and the
    groups ``individuals``, people's own draws on the natural scale, sample by sample under one draw of the group for
    all of them, and ``lattice_error``.
    """
    chains = pooled.sampling.chains
    subject, parameter = list(pooled.lattices.subjects), list(pooled.lattices.names)
    coords: dict[str, Any] = {"subject": subject, "parameter": parameter}
    of_people = {"subject": subject, "parameter": list(pooled.names)}
    prior = draw_prior(pooled.scaled_prior, PRIOR_DRAWS, np.random.default_rng([pooled.sampling.seed, 2]))
    pointwise = pooled.log_likelihood.reshape(chains, -1, len(subject))
    groups = {
        "log_likelihood": xr.Dataset({"choices": (("chain", "draw", "subject"), pointwise)}, coords),
        "prior": xr.Dataset(
            {name: (("chain", "draw", "parameter"), getattr(prior, name)[None]) for name in ("mean", "spread")}, coords
        ),
        "individuals": xr.Dataset({"value": (("subject", "sample", "parameter"), pooled.draw_people())}, of_people),
        "lattice_error": xr.Dataset(
            {"merging": pooled.errors.merging, "noise": pooled.errors.noise, "shift": pooled.errors.shift}, coords
        ),
    }
    result = with_groups(pooled.idata, groups)
    result["posterior"].attrs |= {
        "model": pooled.model,
        "formulas": json.dumps(list(pooled.formulas)),
        "prior": json.dumps(asdict(pooled.prior)),
        "warnings": json.dumps(pooled.warnings),
        "lattices": pooled.lattices.digest,
        "individuals": JOINT,
    }
    return result


def read_pooled(run: Run, lattices: Lattices, prior: GroupPrior | None = None) -> Posterior | None:
    """Return what was pooled from just these lattices with this prior and no covariates, if anything was."""
    found = read_posterior(run.path(f"pool_{lattices.model}.nc"))
    if found is None:
        return None
    wanted = {
        "lattices": lattices.digest,
        "formulas": "[]",
        "prior": json.dumps(asdict(prior or GroupPrior())),
        "individuals": JOINT,
    }
    about, people, names = found["posterior"].attrs, len(lattices.subjects), len(lattices.names)
    draws = tuple(found["posterior"].sizes.get(name, 0) for name in ("chain", "draw"))
    is_whole = (
        all(about.get(name) == value for name, value in wanted.items())
        and has_shapes(found, "log_likelihood", {"choices": (*draws, people)})
        and has_shapes(found, "individuals", {"value": (people, DRAWS_OF_PERSON, names)})
    )
    return found if is_whole else None


def condition_lattices(fitted: FittedRun, model: str, leave_out: Collection[str] = ()) -> ConditionLattices:
    """Return what everyone's choices in each condition say about the parameters of one model."""
    parts = load_conditions(fitted.run, model, leave_out)
    varied = (number for number, axis in enumerate(fitted.space(model).free) if axis.name in fitted.vary)
    return ConditionLattices(fitted.by, tuple(parts), tuple(varied), tuple(parts.values()))


def in_words(pooled: Mapping[str, Pooled | PooledConditions]) -> str:
    """Return what was found, for people: groups, spreads, contrasts, how far individuals moved, and warnings."""
    return "\n\n".join(_words(each) for each in pooled.values())


def _where(row: pd.Series) -> str:
    return f" in {plain(str(row['condition']))}" if row.get("condition") else ""


def _words(pooled: Pooled | PooledConditions) -> str:
    table = pooled.group
    lines = [f"{pooled.model}: {len(pooled.lattices.subjects)} people pooled."]
    for axis in pooled.lattices.axes:
        own = table[table["parameter"] == axis.name].set_index("quantity")
        medians, spread = own.loc[["median"]], own.loc[["spread"]].iloc[0]
        told = "; ".join(
            f"group median{_where(row)} {row['median']:.3g} (95% {row['lower']:.3g} to {row['upper']:.3g})"
            for _, row in medians.iterrows()
        )
        lines.append(
            f"  {axis.name}: {told}; people spread by {spread['median']:.2f} on the {axis.parameter.scale} scale "
            f"(95% {spread['lower']:.2f} to {spread['upper']:.2f})."
        )
    for _, row in table[table["quantity"] == "contrast"].iterrows():
        sure = max(row["probability_above_0"], 1 - row["probability_above_0"])
        direction = "higher" if row["median"] > 0 else "lower"
        lines.append(
            f"  {row['parameter']}, {row['name']}: {row['median']:+.3g} (95% {row['lower']:+.3g} to "
            f"{row['upper']:+.3g}); {direction} with probability {probability(sure, row['ess_bulk'])}."
        )
    checks = pooled.diagnostics
    lines.append(
        f"  Checks: {checks.divergences} divergences, R-hat {checks.r_hat:.3f}, "
        f"effective draws {min(checks.ess_bulk, checks.ess_tail):.0f}; errors in nats: filters "
        f"{pooled.errors.noise:.2f}, merging {pooled.errors.merging:.2f}."
    )
    lines += [f"  Warning: {text}." for text in pooled.warnings]
    return "\n".join(lines)
