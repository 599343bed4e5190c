"""The models: what each variant switches on and off, and which parameters it has. Adding one is adding an entry."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from holmes_fit._support.errors import InputError, Problem, Problems, nearest, shown
from holmes_fit.models.competitors.alcove import Alcove
from holmes_fit.models.competitors.bias import Bias
from holmes_fit.models.competitors.configural import Configural
from holmes_fit.models.competitors.gcm import ContextModel
from holmes_fit.models.competitors.pearce_hall import PearceHall
from holmes_fit.models.competitors.rational import Rational
from holmes_fit.models.competitors.rescorla_wagner import RescorlaWagner
from holmes_fit.models.competitors.sustain import Sustain
from holmes_fit.models.competitors.win_stay import WinStay
from holmes_fit.models.filters.settings import NO_LIMIT, History, Settings
from holmes_fit.models.parameters import ALPHA, OMEGA, Parameter
from holmes_fit.models.responses.choices import CHOICES
from holmes_fit.models.responses.contract import Response
from holmes_fit.trials.observations import Observations

Resampling = Literal["systematic", "multinomial"]
BranchCounts = Literal["particle", "shared"]
StickyBy = Literal["branch", "node"]

DEPTH_SCALE = Parameter(
    "depth_scale", 0.0, 1.0, "identity", 1.0, "how fast concentration falls with depth", free=False, symbol="λ"
)


@dataclass(frozen=True)
class Observer:
    """How a filter is run: part of the model of the person, so simulate and fit with the same.

    Parameters
    ----------
    particles
        Hypotheses held at a time.
    resampling
        ``"systematic"``, or ``"multinomial"`` as in the paper.
    branch_counts
        Branch counts per ``"particle"`` as in the paper's text, or ``"shared"`` between the copies of a particle as in
        the authors' published code.
    sticky_by
        Stickiness to the previous ``"branch"`` index as in the paper's equation, or to the previous ``"node"`` as in
        the authors' published code.
    max_depth, max_branches
        Limits on the levels of a tree and the branches at a level. A model's own limits hold as well.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> as_in_the_paper = hf.Observer(particles=1000, resampling="multinomial")
    >>> hf.Observer(resampling="stratified")
    Traceback (most recent call last):
    holmes_fit.InputError: argument resampling: saw 'stratified'; allowed: 'systematic' or 'multinomial'.
    """

    particles: int = 200
    resampling: Resampling = "systematic"
    branch_counts: BranchCounts = "particle"
    sticky_by: StickyBy = "branch"
    max_depth: int = 20
    max_branches: int = 20

    def __post_init__(self) -> None:
        problems = Problems()
        for name in ("particles", "max_depth", "max_branches"):
            check_count(name, getattr(self, name), problems)
        for name, kinds in (("resampling", Resampling), ("branch_counts", BranchCounts), ("sticky_by", StickyBy)):
            value, words = getattr(self, name), get_args(kinds)
            if not isinstance(value, str) or value not in words:
                problems.add(f"argument {name}", value, " or ".join(map(repr, words)))
        problems.raise_if_any()


class Model(Protocol):
    """What every model offers; beside it, those that have them say the attributes of ``UNSAID``."""

    uses_particles: ClassVar[bool]  # whether replicates differ
    predicts_choices: ClassVar[bool]  # whether p-hat is the choice probability itself, with no response rule

    @property
    def name(self) -> str: ...

    @property
    def label(self) -> str: ...

    @property
    def parameters(self) -> tuple[Parameter, ...]: ...

    def p_hat(
        self,
        observations: Observations,
        values: Mapping[str, float],
        observer: Observer,
        key: np.uint64,
        replicates: int = 1,
        first_replicate: int = 0,
    ) -> NDArray[np.float64]:
        """Return p-hat, replicates x trials."""
        ...


@dataclass(frozen=True)
class LatentCauseModel:
    """A particle filter over latent causes: a prior given by its switches."""

    name: str  # as in commands and files
    label: str  # as in figures
    max_depth: int  # the levels of its tree: 1 is the flat model
    stops: bool  # whether a path may end before the last level
    sticky: bool  # whether the branch of the previous trial is favoured
    meaning: str = ""  # the following three as in ``UNSAID``
    color: str = ""
    marker: str = "o"

    family: ClassVar[str] = "latent-cause"
    uses_particles: ClassVar[bool] = True
    predicts_choices: ClassVar[bool] = False

    @property
    def is_flat(self) -> bool:
        return self.max_depth == 1

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (ALPHA, OMEGA) if self.is_flat else (ALPHA, OMEGA, DEPTH_SCALE)

    def settings(self, values: Mapping[str, float], observer: Observer) -> Settings:
        """Return the filter's settings at these parameter values."""
        return Settings(
            alpha=float(values["alpha"]),
            omega=float(values["omega"]),
            depth_scale=float(values.get("depth_scale", DEPTH_SCALE.default)),
            max_depth=min(self.max_depth, observer.max_depth),
            max_branches=NO_LIMIT if self.is_flat else observer.max_branches,
            stops=self.stops,
            sticky=self.sticky,
            sticky_by_node=observer.sticky_by == "node",
            shared_counts=observer.branch_counts == "shared",
            particles=observer.particles,
            multinomial=observer.resampling == "multinomial",
        )

    def p_hat(
        self,
        observations: Observations,
        values: Mapping[str, float],
        observer: Observer,
        key: np.uint64,
        replicates: int = 1,
        first_replicate: int = 0,
    ) -> NDArray[np.float64]:
        """Return p-hat, replicates x trials: one independent filter a replicate."""
        from holmes_fit.models.filters import kernel

        return kernel.p_hat_traces(observations, self.settings(values, observer), key, replicates, first_replicate)

    def history(
        self,
        observations: Observations,
        values: Mapping[str, float],
        observer: Observer,
        key: np.uint64,
        replicate: int = 0,
    ) -> tuple[NDArray[np.float64], History]:
        """Return one filter's p-hat and what its particles did, for ``filters.lineage``."""
        from holmes_fit.models.filters import kernel

        return kernel.trace_with_history(observations, self.settings(values, observer), key, replicate)


# Flat is grey and HOLMES violet, throughout; they differ in lightness, too.
_FLAT = "the flat latent-cause model"
_CAUSE_MODELS = (
    LatentCauseModel(
        "flat", "flat", 1, False, False,
        f"{_FLAT}, a Chinese restaurant process over causes (Gershman et al., 2010)", "#6f6f6f", "o",
    ),
    LatentCauseModel("flat_sticky", "flat, sticky", 1, False, True, f"{_FLAT} with stickiness", "#a8a8a8", "s"),
    LatentCauseModel(
        "holmes", "HOLMES", 20, True, True,
        "HOLMES, which infers a tree of latent causes online (Aitsahalia & Iigaya)", "#7b3fb5", "^",
    ),
    LatentCauseModel(
        "holmes_no_stick", "HOLMES, no stickiness", 20, True, False, "HOLMES without stickiness", "#a97fd1", "v"
    ),
    LatentCauseModel(
        "holmes_no_stop", "HOLMES, no stopping", 10, False, True, "HOLMES without stopping", "#c39be8", "D"
    ),
    LatentCauseModel(
        "holmes_structure_only", "HOLMES, structure only", 10, False, False,
        "HOLMES with neither stickiness nor stopping", "#d9c8ee", "P",
    ),
)  # fmt: skip
_COMPETITORS: tuple[Model, ...] = (
    Rational(), Alcove(), ContextModel(), Sustain(), Configural(), PearceHall(), RescorlaWagner(), WinStay(), Bias()
)  # fmt: skip
MODELS: dict[str, Model] = {model.name: model for model in (*_CAUSE_MODELS, *_COMPETITORS)}

_SHIPPED = dict(MODELS)

# What a model says of itself, and what holds where it does not.
UNSAID: Mapping[str, str | bool] = {
    "meaning": "",  # a noun with its article, for sentences
    "color": "",  # for figures, which find one of their own
    "marker": "o",  # for figures
    "baseline": False,  # whether it is there for the others to be held against
    "family": "",  # what it has in common with others: latent-cause, exemplar, clustering, error-driven, heuristic
}


def descriptions(models: Iterable[Model], response: Response = CHOICES) -> dict[str, dict[str, dict[str, object]]]:
    """Return what people are told of models and of their parameters, for the manifest of a run."""
    listed = list(models)
    parameters = {each.name: each for one in listed for each in parameters_of(one, response)}
    return {
        "models": {
            one.name: {"label": one.label, **{name: getattr(one, name, other) for name, other in UNSAID.items()}}
            for one in listed
        },
        "parameters": {name: {"label": each.label, "meaning": each.meaning} for name, each in parameters.items()},
    }


def parameters_of(model: Model, response: Response = CHOICES) -> tuple[Parameter, ...]:
    """Return the parameters of learning and responding that a model has."""
    return (*model.parameters, *response.parameters_beside(model.predicts_choices))


def baselines() -> tuple[str, ...]:
    """Return the names of the models that are there for others to be held against, sorted."""
    return tuple(sorted(name for name, model in MODELS.items() if getattr(model, "baseline", UNSAID["baseline"])))


def is_shipped(name: str) -> bool:
    """Say whether a model of the package has this name."""
    return name in _SHIPPED


def models_of_ones_own() -> dict[str, Model]:
    """Return what was added to the registry, or put in place of a model of the package, where this is called."""
    return {name: model for name, model in MODELS.items() if _SHIPPED.get(name) is not model}


def find_model(name: str) -> Model:
    """Return the registered model of this name."""
    if isinstance(name, str) and name in MODELS:
        return MODELS[name]
    advice = nearest(name, MODELS) if isinstance(name, str) else ""
    raise InputError([Problem("argument model", shown(name), ", ".join(MODELS), advice)])


def check_values(model: Model, values: Mapping[str, float], problems: Problems) -> None:
    """Check parameter values against a model: known names, numbers that it can be computed at."""
    known = {parameter.name: parameter for parameter in model.parameters}
    check_known("argument", values, known, f"the parameters of {model.name}", problems)


def check_known(
    what: str, values: Mapping[str, float], known: Mapping[str, Parameter], allowed: str, problems: Problems
) -> None:
    """Check that values are of known parameters, and can be computed at."""
    for name, value in values.items():
        if name not in known:
            problems.add(f"{what} {name}", value, f"{allowed}: {', '.join(known)}", nearest(name, known))
        elif not is_number(value) or not known[name].accepts(value):
            problems.add(f"{what} {name}", value, known[name].allowed)


def check_count(name: str, value: object, problems: Problems, least: int = 1) -> None:
    """Check that an argument is a whole number, at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least or value > NO_LIMIT:
        problems.add(f"argument {name}", value, f"a whole number from {least} to {NO_LIMIT}")


def is_number(value: object) -> bool:
    """Say whether a value is a real number (and not a truth value)."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
