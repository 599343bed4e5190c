"""One person fitted with one model: lattice, posterior, best points, predictions, and warnings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holmes_fit.fitting.lattice.explored import Explored, explore
from holmes_fit.fitting.lattice.posterior import Posterior, posterior_of
from holmes_fit.fitting.lattice.task import SCORE, Task, natural
from holmes_fit.fitting.optimum import Goal, Optimum, Score, find_optima, score
from holmes_fit.likelihood.answers import likelihood_of
from holmes_fit.models.filters.lineage import tree_table
from holmes_fit.models.registry import LatentCauseModel, baselines
from holmes_fit.models.tracing import learner_key
from holmes_fit.runs.knowledge import JointKnowledge, Knowledge, Marginal
from holmes_fit.settings.preset import Preset
from holmes_fit.settings.spaces import FreeParameter
from holmes_fit.settings.tables import SearchSettings

AT_BOUND = 0.01  # of the distance between the bounds
ROUNDING = 1e-9
ENOUGH_REPLICATES = 16  # with fewer, a fit is a first look
ENOUGH_IF_EXACT = 150  # points of a search that costs next to nothing
FLOOR = 60.0  # nats below the highest node at which the lattice is cut off: e^-60 of its mass
GRAIN = 2.0**-10  # nats to which the lattice is rounded, so that it takes little room
TIED = "tied to "  # how the standing of such a parameter begins
NO_BETTER = "no better than a coin"  # how the warning begins
LEAST_VISITS = 0.5  # trials, on average over particles, that a node of a tree must have seen to be shown


@dataclass(frozen=True)
class PersonFit:
    """Everything a run keeps about one person and model: facts that JSON can hold, and arrays."""

    facts: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Fitted:
    """A person, or a condition of one, with one model."""

    explored: Explored
    posterior: Posterior
    optima: dict[Goal, Optimum]
    scores: dict[Goal, Score]

    @property
    def is_map_higher(self) -> bool:
        """Whether, on the same fresh draws, the MAP has a higher likelihood than what was found as its maximum."""
        return self.scores["map"].log_likelihood > self.scores["ml"].log_likelihood


def fit_person(task: Task, preset: Preset) -> PersonFit:
    """Fit one person with one model."""
    fitted = fit(task, preset)
    found = assembled(task, fitted, [(task, fitted)], fitted.posterior, preset)
    return PersonFit(found.facts | {"parameters": parameter_facts(task, fitted)}, found.arrays | lattice_arrays(fitted))


def assembled(
    task: Task,
    whole: Fitted,
    parts: Sequence[tuple[Task, Fitted]],
    known: Knowledge | JointKnowledge,
    preset: Preset,
) -> PersonFit:
    """Return what is kept of a person, but for parameters and lattice; ``parts`` are that person, or the conditions."""
    by_part = [trial_arrays(*part) for part in parts]
    trials = {name: np.concatenate([each[name] for each in by_part]) for name in by_part[0]}
    facts = {
        **data_facts(task),
        **model_facts(task, whole),
        "hit_rate": hit_rate(task, trials),
        "search": [  # where the search from each start ended: whether they agree
            {"goal": goal, "start": number, "value": end.value, **natural(task.space.learning, end.position)}
            for goal, optimum in whole.optima.items()
            for number, end in enumerate(optimum.ends)
        ],
        "warnings": warnings_of(task, whole, preset),
    }
    # Posterior draws depend on the seed, the person and the model alone.
    name = f"{task.learners[0].subject}\0{task.space.model.name}".encode()
    draws = known.draw(preset.posterior.draws, np.random.default_rng([task.seed, *name]))
    return PersonFit(facts, {"draws": draws, **trials, **_tree_arrays(parts)})


def fit(task: Task, preset: Preset) -> Fitted:
    """Return lattice, posterior and best points of one person with one model."""
    explored = explore(task, preset.likelihood.replicates)
    posterior = posterior_of(explored)
    optima = find_optima(explored, posterior, effort_of(task, preset))
    scores: dict[Goal, Score] = {goal: score(explored, optimum.point) for goal, optimum in optima.items()}
    fitted = Fitted(explored, posterior, optima, scores)
    return with_map(fitted) if fitted.is_map_higher else fitted


def effort_of(task: Task, preset: Preset, dimensions: float = 1.0) -> SearchSettings:
    """Return how much is searched: more where it is exact, and where noise meets so many times more dimensions."""
    own = preset.search.evaluations
    return preset.search.model_copy(
        update={"evaluations": int(own * dimensions) if task.is_noisy else max(ENOUGH_IF_EXACT, own)}
    )


def with_map(fitted: Fitted) -> Fitted:
    """Take the MAP for the maximum of the likelihood, too."""
    optima, scores = fitted.optima, fitted.scores
    at_map = replace(optima["ml"], point=optima["map"].point)
    return replace(fitted, optima=optima | {"ml": at_map}, scores=scores | {"ml": scores["map"]})


def data_facts(task: Task) -> dict[str, Any]:
    """Return whose trials these are, and how many."""
    return {
        "subject": task.learners[0].subject,
        "model": task.space.model.name,
        "restarts": [learner.restart for learner in task.learners],
        "n_trials": task.n_trials,
        "n_answered": sum(int(learner.answered.sum()) for learner in task.learners),
    }


def model_facts(task: Task, fitted: Fitted) -> dict[str, Any]:
    """Return how well the model explains them."""
    best, likeliest, posterior = fitted.scores["ml"], fitted.scores["map"], fitted.posterior
    return {
        "replicates": fitted.explored.replicates,
        "effective_replicates": likeliest.effective_replicates,
        "batch_sd": likeliest.batch_sd,
        "log_likelihood": best.log_likelihood,
        "log_likelihood_error": best.error,
        "log_likelihood_map": likeliest.log_likelihood,
        "log_likelihood_map_error": likeliest.error,
        "n_parameters": len(task.space.free),
        "log_chance": sum(
            task.space.answers.log_chance(learner.choices[learner.answered]) for learner in task.learners
        ),
        "log_evidence": posterior.log_evidence,
        "log_evidence_error": posterior.log_evidence_error,
        "log_evidence_bias": posterior.log_evidence_bias,
        "lattice_error": posterior.lattice_error,
        "nodes_computed": len(fitted.explored.nodes),
        "refined": fitted.explored.is_refined,
    }


def parameter_facts(task: Task, fitted: Fitted) -> list[dict[str, Any]]:
    """Return one entry a parameter, free or not, in the order of the model and then the response rule."""
    space = task.space
    free = {axis.name: (number, axis) for number, axis in enumerate(space.free)}
    at = {
        goal: space.values(natural(space.free, np.concatenate([optimum.point.learning, optimum.point.response])))
        for goal, optimum in fitted.optima.items()
    }
    facts = []
    for name in at["ml"]:
        source = space.tied.get(name, name)
        entry: dict[str, Any] = {"name": name, "ml": at["ml"][name], "map": at["map"][name]}
        if source in free:
            number, axis = free[source]
            standing = "free" if source == name else f"{TIED}{source}"
            entry |= {"standing": standing, **_posterior_facts(fitted.posterior, number, axis)}
            entry["at_bound"] = _at_bound(axis, at["ml"][name])
        else:
            entry["standing"] = "fixed"
        facts.append(entry)
    return facts


def _posterior_facts(posterior: Posterior, number: int, axis: FreeParameter) -> dict[str, Any]:
    return {
        "scale": axis.parameter.scale,
        "low": axis.parameter.low,
        "high": axis.parameter.high,
        "prior": str(axis.prior),
        **posterior.marginal(number).described(),
        "prior_sd_on_scale": Marginal.of_prior(axis).moments[1],
    }


def _at_bound(axis: FreeParameter, value: float) -> str:
    """Say at which bound a value lies: ``"low"``, ``"high"`` or neither. The outermost cells of the lattice count."""
    share = (float(axis.parameter.to_scale(value)) - axis.low) / (axis.high - axis.low)
    margin = max(AT_BOUND, 0.5 / axis.nodes + ROUNDING)
    return "low" if share < margin else "high" if share > 1 - margin else ""


def warnings_of(task: Task, fitted: Fitted, preset: Preset) -> list[str]:
    """Return what must be read first."""
    found = []
    limit, error = preset.likelihood.largest_error, fitted.posterior.log_evidence_error
    if task.is_noisy and fitted.explored.replicates < ENOUGH_REPLICATES:
        found.append(f"first look: only {fitted.explored.replicates} replicates")
    if task.is_noisy and error > limit:
        found.append(
            f"noisy likelihood: the log evidence is uncertain by {error:.2f} nats with {fitted.explored.replicates} "
            f"replicates, above {limit:g}; more replicates make it less"
        )
    choices = np.concatenate([learner.choices for learner in task.learners])
    answered = choices[np.concatenate([learner.answered for learner in task.learners])]
    beyond_coin = fitted.posterior.log_evidence - task.space.answers.log_chance(answered)
    if beyond_coin <= 0 and task.space.model.name not in baselines():
        found.append(f"{NO_BETTER}: its evidence is {-beyond_coin:.1f} nats below that of tossing a fair coin")
    if len(answered) and len(np.unique(answered)) == 1:
        found.append(f"all answers are {answered[0]:g}: they say little about learning")
    if len(answered) < 20:
        found.append(f"few answers ({len(answered)}): the estimates are mostly the prior")
    return found


def lattice_arrays(fitted: Fitted) -> dict[str, NDArray[Any]]:
    """Return the lattice for maps and group models: positions along each axis, and log-likelihoods at the nodes."""
    posterior = fitted.posterior
    sets = posterior.of_sets
    return {
        "log_likelihood": rounded(posterior.log_likelihood),
        "of_sets": np.array([rounded(each) for each in sets]) if len(sets) else np.empty((0,), np.float32),
        **{f"positions_{axis.name}": axis.positions for axis in posterior.axes},
        **{f"coarse_{axis.name}": nodes for axis, nodes in zip(posterior.axes, posterior.coarse, strict=True)},
        **{f"log_prior_{axis.name}": axis.log_weights for axis in posterior.axes},
    }


def rounded(log_likelihood: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return log-likelihoods as they are kept: cut off far below the highest, and rounded."""
    kept = np.maximum(log_likelihood, log_likelihood.max() - FLOOR)
    return (np.round(kept / GRAIN) * GRAIN).astype(np.float32)


def trial_arrays(task: Task, fitted: Fitted) -> dict[str, NDArray[Any]]:
    """Return predictions for every trial of the person at the MAP, learner after learner.

    They are made from the choices before that trial. Log probabilities of the choices add up to the log-likelihood at
    the MAP.
    """
    rule = task.rule(fitted.optima["map"].point.response)
    steps = fitted.scores["map"].likelihood.one_step_ahead(rule)
    return {
        "rows": np.concatenate([learner.rows for learner in task.learners]),
        "p_hat": np.concatenate([step.p_hat for step in steps]),
        "p_choice": np.concatenate([step.answer for step in steps]),
        "log_p_choice": np.concatenate([step.log_probability for step in steps]),
    }


def hit_rate(task: Task, trials: dict[str, NDArray[Any]]) -> float:
    """Return how near expected answers come to those that were given."""
    answers = np.concatenate([learner.choices for learner in task.learners])
    given = np.concatenate([learner.answered for learner in task.learners])
    return task.space.answers.hit_rate(answers[given], trials["p_choice"][given])


def _tree_arrays(parts: Sequence[tuple[Task, Fitted]]) -> dict[str, NDArray[Any]]:
    """Return the tree of each learner's best replicate at the MAP: a row a node, the learner's number first."""
    tables: list[NDArray[np.float64]] = []
    for task, fitted in parts:
        model = task.space.model
        if not isinstance(model, LatentCauseModel):
            return {}
        point, best = fitted.optima["map"].point, fitted.scores["map"]
        values = task.space.model_values(natural(task.space.learning, point.learning))
        replicates = likelihood_of(best.traces, response=task.space.answers).best_replicates(task.rule(point.response))
        for learner, replicate in zip(task.learners, replicates, strict=True):
            key = learner_key(learner, task.seed)
            _, history = model.history(learner.observations, values, task.observer, key, SCORE + replicate)
            table = tree_table(history, learner.observations)
            table = table[table["visits"] >= LEAST_VISITS]
            tables.append(np.column_stack([np.full(len(table), len(tables)), table.to_numpy(dtype=np.float64)]))
    return {"tree": np.vstack(tables)}
