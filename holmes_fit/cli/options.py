"""Options that several commands have, named as in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holmes_fit._support.errors import Problems

if TYPE_CHECKING:
    from holmes_fit._support.study_files import StudyFolder
    from holmes_fit.groups.pooling.priors import GroupPrior
    from holmes_fit.groups.pooling.sampling import Sampling
    from holmes_fit.models.registry import Observer


def shipped(folder: StudyFolder) -> Callable[[str], list[str]]:
    """Return what completes the name of a shipped file in a shell."""

    def complete(incomplete: str) -> list[str]:
        from holmes_fit._support.study_files import shipped_names

        return [name for name in shipped_names(folder) if name.startswith(incomplete)]

    return complete


def complete_model(incomplete: str) -> list[str]:
    """Return the models whose names begin so, for a shell."""
    from holmes_fit.models.registry import MODELS

    return [name for name in MODELS if name.startswith(incomplete)]


def complete_models(incomplete: str) -> list[str]:
    """Return how a list of models, such as ``flat,ho``, may go on, for a shell; nobody names a model twice."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in complete_model(last) if name not in before.split(",")]


Data = Annotated[
    list[Path], typer.Argument(metavar="DATA", show_default=False, help="A CSV file, several, or a folder of them.")
]
ProtocolName = Annotated[
    str,
    typer.Option(
        "--protocol",
        metavar="P",
        show_default=False,
        help="A shipped protocol, or the path of a TOML.",
        autocompletion=shipped("protocols"),
    ),
]
Models = Annotated[str, typer.Option(metavar="NAME,...", help="The models.", autocompletion=complete_models)]
Participants = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A CSV with one row a person; joins covariates by subject."),
]
Alpha = Annotated[str | None, typer.Option(metavar="VALUE", help="Concentration: how readily causes are opened.")]
Omega = Annotated[str | None, typer.Option(metavar="VALUE", help="Pseudocount of features, and stickiness.")]
DepthScale = Annotated[str | None, typer.Option(metavar="VALUE", help="Decay of the concentration with depth.")]
Param = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="Any other parameter of the model; can be repeated.")
]
Seed = Annotated[int, typer.Option(help="Chooses all draws.")]
Particles = Annotated[int, typer.Option(help="Hypotheses that an observer holds.")]
Resampling = Annotated[str, typer.Option(metavar="KIND", help="systematic or multinomial.")]
BranchCounts = Annotated[str, typer.Option(metavar="KIND", help="Counts by particle, or shared as published.")]
StickyBy = Annotated[str, typer.Option(metavar="KIND", help="Stickiness by branch, or by node as published.")]
MaxDepth = Annotated[int, typer.Option(help="Levels of a tree, at most.")]
MaxBranches = Annotated[int, typer.Option(help="Branches at a level, at most.")]
Workers = Annotated[int | None, typer.Option(metavar="N", help="Processes on this machine; all cores by default.")]
Dask = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="A Dask cluster instead: its scheduler, as tcp://HOST:8786.")
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", show_default=False, help="A run folder.")]
LeaveOut = Annotated[list[str] | None, typer.Option(metavar="SUBJECT", help="Someone to leave out; can be repeated.")]
FitPreset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="default, quick, careful, or the path of a TOML.",
        autocompletion=shipped("fitting"),
    ),
]
PoolingPreset = Annotated[
    str,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="Whose [pooling] is used: a preset, or the path of a TOML.",
        autocompletion=shipped("fitting"),
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


def given_values(named: Mapping[str, str | None], others: Sequence[str] | None) -> dict[str, str]:
    """Return the parameters that were given, by their own option or as NAME=VALUE."""
    values = {name: value for name, value in named.items() if value is not None}
    problems = Problems()
    for name, value in _pairs(others or (), "--param", "NAME=VALUE", problems):
        if name in values:
            problems.add(f"option --param {name}", value, f"one value for {name}")
        values[name] = value
    problems.raise_if_any()
    return values


def numbers_by_name(text: str | None, option: str) -> dict[str, float] | None:
    """Return what a text such as ``flat=0.4,holmes=0.6`` says, or nothing for no text."""
    if text is None:
        return None
    problems = Problems()
    found: dict[str, float] = {}
    for name, value in _pairs(text.split(","), option, "NAME=NUMBER,NAME=NUMBER", problems):
        number = as_number(value)
        if isinstance(number, str):
            problems.add(f"option {option}, {name}", value, "a number")
        elif name in found:
            problems.add(f"option {option}, {name}", text, f"{name} once")
        else:
            found[name] = number
    problems.raise_if_any()
    return found


def as_number(text: str) -> float | str:
    """Return the number in a text, a whole one as such; the text itself if there is none."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _pairs(texts: Sequence[str], option: str, allowed: str, problems: Problems) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, equals, value = text.rpartition("=")
        if equals and name.strip():
            yield name.strip(), value.strip()
        else:
            problems.add(f"option {option}", text, allowed)


def observer_of(
    particles: int, resampling: str, branch_counts: str, sticky_by: str, max_depth: int, max_branches: int
) -> Observer:
    """Return the observer that the options describe; the observer checks them."""
    from holmes_fit.models.registry import Observer

    return Observer(particles, resampling, branch_counts, sticky_by, max_depth, max_branches)  # type: ignore[arg-type]


def pooling_of(preset: str, seed: int, workers: int | None) -> tuple[GroupPrior, Sampling]:
    """Return what a preset says about groups: their prior, and how they are sampled."""
    from holmes_fit.groups.pooling.priors import prior_of
    from holmes_fit.groups.pooling.sampling import sampling_of
    from holmes_fit.models.registry import check_count
    from holmes_fit.settings.preset import load_preset

    problems = Problems()
    check_count("seed", seed, problems, least=0)
    if workers is not None:
        check_count("workers", workers, problems)
    problems.raise_if_any()
    said = load_preset(preset).pooling
    return prior_of(said), sampling_of(said, seed, workers)
