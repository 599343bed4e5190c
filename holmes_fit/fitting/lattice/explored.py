"""The likelihood of one person and model at the nodes of a lattice that were computed.

Every node has draws of its own, and its neighbours lend it what their filters show (``nodes.Lending``): the plain half
of its likelihood is averaged with theirs by a kernel, as the true surface is smooth; the density of its traces takes
its mean from a plane through theirs, and its covariance from all their filters. So a node with R filters has the use of
up to nine times as many.

The same is done without each of eight disjoint shares of the filters: what leaving them out changes is what is known
of the Monte Carlo error.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from holmes_fit.fitting.lattice.nodes import (
    Knots,
    Lending,
    Node,
    ResponseNodes,
    fill,
    first_nodes,
    grid_nodes,
    lending,
    node_position,
    shape_of,
)
from holmes_fit.fitting.lattice.parts import parts_of
from holmes_fit.fitting.lattice.task import A_NODE, LATTICE, Task, log_prior_mass
from holmes_fit.likelihood.answers import halves, log_mean
from holmes_fit.likelihood.density import density_of, deviations_of, log_odds_of
from holmes_fit.likelihood.specialised import Specialised
from holmes_fit.likelihood.traces import Replicates, Traces

SHARES = 8  # of the filters, which are left out in turn
NEGLIGIBLE = 7.0  # nats below the best node, at which nothing need be left out
FAR = 8.0  # the same where the highest points may lie between nodes
PLACES = (1, 3, 3, 2)  # by the number of learning parameters, along each side of a cell over which is averaged

NARROW = 0.75  # posterior SD, in spacings of the computed nodes, below which the nodes between are needed
MOST_REFINEMENTS = 30  # nodes between others
LEAST_MASS = 1e-4  # of a node that is worth computing

EVERYTHING = slice(None)

Rows = slice | NDArray[np.signedinteger]


class Explored:
    """Log-likelihoods on the lattice, as far as they were computed."""

    def __init__(self, task: Task, replicates: int):
        self.task = task
        self.replicates = replicates if task.is_noisy else 1  # filters at every node
        self.learning_shape = shape_of(task.space.learning)
        self.response = ResponseNodes(task)
        self.response_shape = shape_of(task.space.response)
        self.nodes: list[Node] = []
        self.is_refined = False
        by = Specialised(task.space.answers)
        self._learners = [_Learner(by, by.response.coded(each.choices)) for each in task.learners]
        self._lending: list[Lending] = []
        self._whole: NDArray[np.float64] | None = None
        self._at_knots: list[NDArray[np.float64]] = []  # by learner, the smooth half of all filters: nodes x knots

    def add(self, nodes: Iterable[Node]) -> None:
        """Filter at more nodes. From the first ones it is seen how narrow the likelihood is."""
        new = [(node, self._traces(node)) for node in nodes]
        if not self.nodes:
            parts = parts_of(self.task, [traces for _, traces in new], self.response.knots.values)
            self.response = ResponseNodes(self.task, parts)
        for node, traces in new:
            for learner, p_hat in zip(self._learners, traces.p_hat, strict=True):
                learner.add(p_hat, self)
            self.nodes.append(node)
        self._lending = lending(self.nodes, self.learning_shape) if self.task.is_noisy else []
        self._whole = None

    def _traces(self, node: Node) -> Traces:
        flat = int(np.ravel_multi_index(node, self.learning_shape)) if node else 0
        return self.task.traces(self.position(node), Replicates(self.replicates, LATTICE + A_NODE * flat))

    def divide(self) -> None:
        """Take the mean likelihood over those cells of the learning parameters that matter, where it is exact."""
        axes = self.task.space.learning
        count = PLACES[min(len(axes), len(PLACES) - 1)]
        along = [((np.arange(count) + 0.5) / count - 0.5) * axis.spacing for axis in axes]
        whole = self.log_likelihood.copy()
        for place in self._that_matter(FAR):
            middle = self.position(self.nodes[place])
            whole[place] = log_mean(np.array([self._exactly(middle + away) for away in product(*along)]))
        self._whole = whole

    def _exactly(self, position: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the exact log-likelihood at a position of the learning parameters, at the response nodes."""
        p_hat = self.task.traces(position, Replicates(1)).p_hat
        rows = [own.on_grid(log_odds_of(each), self) for own, each in zip(self._learners, p_hat, strict=True)]
        return self.response.averaged(np.sum(rows, axis=0))[0]

    def position(self, node: Node) -> NDArray[np.float64]:
        """Return where a node is, on the scales of search."""
        return node_position(self.task.space.learning, node)

    @property
    def is_marginal(self) -> bool:
        """Whether there is a distribution of traces to integrate over."""
        return self.task.is_noisy and self.task.kind == "marginal"

    @property
    def sets(self) -> list[Rows]:
        """The filters that are left without each share of them; none if the likelihood is exact."""
        if not self.task.is_noisy:
            return []
        number = np.arange(self.replicates)
        return [number[number % SHARES != share] for share in range(SHARES)]

    @property
    def log_likelihood(self) -> NDArray[np.float64]:
        """Computed nodes x response nodes."""
        if self._whole is None:
            self._whole = self.response.averaged(np.sum(list(self._of_learners()), axis=0))
        return self._whole

    def _of_learners(self) -> Iterator[NDArray[np.float64]]:
        if self.is_marginal:
            yield from (halves(plain, smooth) for plain, smooth in self.both_halves())
        else:
            yield from (learner.plain(EVERYTHING, self) for learner in self._learners)

    def both_halves(self) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Yield the plain and the smooth half of each learner's likelihood by all filters: nodes x response nodes."""
        self._at_knots = []
        for learner in self._learners:
            self._at_knots.append(learner.smooth(EVERYTHING, self._lending, self.response.knots))
            smooth = self.response.knots.at_nodes(self._at_knots[-1]).reshape(len(self.nodes), -1)
            yield _averaged(learner.plain(EVERYTHING, self), self._lending), smooth

    def of_sets(self) -> list[NDArray[np.float64]]:
        """Return the same without each share of the filters. Where nodes do not matter, nothing is left out."""
        whole = self.log_likelihood
        places = self._that_matter(NEGLIGIBLE)
        found = []
        for rows in self.sets:
            own = whole.copy()
            own[places] = self.response.averaged(np.sum(list(self._without(rows, places)), axis=0))
            found.append(own)
        return found

    def _without(self, rows: Rows, places: NDArray[np.intp]) -> Iterator[NDArray[np.float64]]:
        """Yield the log-likelihood of each learner by some of the filters, at some of the computed nodes.

        That of the smooth half changes so little that it is enough to know it at few knots.
        """
        lent = [self._lending[place] for place in places]
        response = self.response
        for number, learner in enumerate(self._learners):
            plain = learner.plain(rows, self)
            if not self.is_marginal:
                yield plain[places]
                continue
            whole = self._at_knots[number][places]
            few = learner.smooth(rows, lent, response.few_knots)
            change = response.few_knots.at_nodes(few - whole[np.ix_(np.arange(len(places)), *response.few)])
            smooth = response.knots.at_nodes(whole) + change
            yield halves(_averaged(plain, lent), smooth.reshape(len(places), -1))

    def on_lattice(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return learning nodes x response nodes, interpolated between computed nodes."""
        surface = np.full((*self.learning_shape, *self.response_shape), np.nan)
        for node, own in zip(self.nodes, values, strict=True):
            surface[node] = own.reshape(self.response_shape)
        return fill(surface, self.learning_shape)

    def lent(self, position: NDArray[np.float64]) -> list[NDArray[np.float64]] | None:
        """Return what the nearest node and its lenders would lend to a point: by learner, deviations of filters."""
        if not self.is_marginal:
            return None
        spacing = np.array([axis.spacing for axis in self.task.space.learning])
        away = [np.sum(((self.position(node) - position) / spacing) ** 2) for node in self.nodes]
        lenders = self._lending[int(np.argmin(away))].lenders
        return [np.concatenate([deviations_of(each.log_odds[i]) for i in lenders]) for each in self._learners]

    def _that_matter(self, negligible: float) -> NDArray[np.intp]:
        """Return the computed nodes whose mass is not negligible."""
        log_prior = log_prior_mass(self.task.space).reshape(*self.learning_shape, -1)
        joint = np.array(
            [np.max(own + log_prior[node]) for node, own in zip(self.nodes, self.log_likelihood, strict=True)]
        )
        return np.flatnonzero(joint > joint.max() - negligible)


class _Learner:
    """One learner's filters at the computed nodes."""

    def __init__(self, by: Specialised, coded: NDArray[np.float64]):
        self.by = by
        self.coded = coded
        self.log_odds: list[NDArray[np.float32]] = []  # by node, filters x trials
        self._by_filter: list[NDArray[np.float64]] = []  # by node, filters x response nodes

    def add(self, p_hat: NDArray[np.float64], explored: Explored) -> None:
        log_odds = log_odds_of(p_hat)
        self.log_odds.append(log_odds.astype(np.float32))
        if explored.task.kind == "marginal":
            self._by_filter.append(self.on_grid(log_odds, explored))

    def plain(self, rows: Rows, explored: Explored) -> NDArray[np.float64]:
        """Return the plain mean over some filters, or the likelihood of their mean: nodes x response nodes."""
        if explored.task.kind == "marginal":
            return np.stack([log_mean(each[rows]) for each in self._by_filter])
        means = [1 / (1 + np.exp(-each[rows].astype(np.float64))) for each in self.log_odds]
        return np.concatenate([self.on_grid(log_odds_of(p.mean(axis=0, keepdims=True)), explored) for p in means])

    def on_grid(self, log_odds: NDArray[np.float64], explored: Explored) -> NDArray[np.float64]:
        answered = ~np.isnan(self.coded)
        given = np.ascontiguousarray(log_odds[:, answered])
        on_grid = self.by.on_grid(given, self.coded[answered], explored.response.nodes)
        return on_grid.reshape(len(log_odds), -1)

    def smooth(self, rows: Rows, lent: Sequence[Lending], knots: Knots) -> NDArray[np.float64]:
        """Return the likelihood under the density of traces at the nodes that are lent to: nodes x knots."""
        chosen = [each[rows].astype(np.float64) for each in self.log_odds]
        means = np.stack([each.mean(axis=0) for each in chosen])
        deviations = [deviations_of(each) for each in chosen]
        at_knots = []
        for own in lent:
            pooled = np.concatenate([deviations[lender] for lender in own.lenders])
            density = density_of(own.plane @ means[own.lenders], pooled)
            at_knots.append(self.by.integral_on_grid(density, self.coded, knots.values))
        return np.stack(at_knots)


def _averaged(plain: NDArray[np.float64], lent: Sequence[Lending]) -> NDArray[np.float64]:
    """Average likelihoods over lenders."""
    highest = plain.max(axis=0)
    likelihood = np.exp(plain - highest)
    averaged = np.stack([own.kernel @ likelihood[own.lenders] for own in lent])
    return np.log(np.maximum(averaged, np.finfo(np.float64).tiny)) + highest


def explore(task: Task, replicates: int) -> Explored:
    """Compute a person's likelihood at every second node, and between them where the posterior is narrow.

    Every node has the same number of filters, whatever they show. To give more to those that look good would make the
    evidence too low: lucky ones would be measured again and unlucky ones not.

    If the likelihood is exact, a node costs little, and all are computed: some models jump from one point to the next.
    Answers that say much, such as ratings, make it so narrow that means over cells are taken in the place of nodes.
    """
    explored = Explored(task, replicates)
    explored.add(nodes_at_first(task))
    if not task.is_noisy and task.space.answers.parts > 1:
        explored.divide()
    between = _nodes_between(explored) if task.is_noisy else []
    if between:
        explored.add(between)
        explored.is_refined = True
    return explored


def nodes_at_first(task: Task) -> list[Node]:
    """Return the nodes that are computed for everyone."""
    shape = shape_of(task.space.learning)
    return grid_nodes(first_nodes(shape) if task.is_noisy else [np.arange(length) for length in shape])


def _nodes_between(explored: Explored) -> list[Node]:
    """Return the nodes between others that are worth computing; none unless the posterior is narrow for the spacing."""
    log_joint = explored.on_lattice(explored.log_likelihood) + log_prior_mass(explored.task.space)
    mass = np.exp(log_joint - logsumexp(log_joint))
    on_learning = mass.reshape(*explored.learning_shape, -1).sum(axis=-1)
    if not _is_narrow(on_learning):
        return []
    wanted = on_learning.copy()
    for node in explored.nodes:
        wanted[node] = 0.0
    order = np.argsort(-wanted, axis=None, kind="stable")[:MOST_REFINEMENTS]
    nodes = [np.unravel_index(place, wanted.shape) for place in order if wanted.flat[place] > LEAST_MASS]
    return [tuple(int(i) for i in node) for node in nodes]


def _is_narrow(on_learning: NDArray[np.float64]) -> bool:
    """Say whether the SD along an axis is below what the first nodes, two apart, can resolve."""
    for axis, length in enumerate(on_learning.shape):
        other = tuple(i for i in range(on_learning.ndim) if i != axis)
        marginal, place = on_learning.sum(axis=other), np.arange(length)
        mean = np.sum(marginal * place)
        if length > 2 and np.sqrt(np.sum(marginal * (place - mean) ** 2)) < 2 * NARROW:
            return True
    return False
