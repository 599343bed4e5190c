"""Options that several commands have, named as in Python."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import holmes_fit as hf
from holmes_fit._support.errors import Problems

if TYPE_CHECKING:
    from holmes_fit._support.study_files import StudyFolder
    from holmes_fit.groups.pooling.priors import GroupPrior
    from holmes_fit.groups.pooling.sampling import Sampling
    from holmes_fit.trials.importing.reading import Imported


def shipped(folder: StudyFolder) -> Callable[[str], list[str]]:
    """Return what completes the name of a shipped file in a shell."""

    def complete(incomplete: str) -> list[str]:
        from holmes_fit._support.study_files import shipped_names

        return [name for name in shipped_names(folder) if name.startswith(incomplete)]

    return complete


def complete_model(incomplete: str) -> list[str]:
    """Return the models whose names begin so, for a shell."""
    return [name for name in hf.MODELS if name.startswith(incomplete)]


def complete_models(incomplete: str) -> list[str]:
    """Return how a list of models, such as ``flat,ho``, may go on, for a shell; nobody names a model twice."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in complete_model(last) if name not in before.split(",")]


PRESETS, PROTOCOLS = shipped("fitting"), shipped("protocols")
KNOWN = {"NAME,...": complete_models, "P": PROTOCOLS}  # how values that are called so may go on


def option(
    metavar: str, words: str, *names: str, complete: Callable[[str], list[str]] | None = None, show_default: bool = True
) -> Any:
    """Return an option with a value, of which a shell knows how it may go on."""
    known = complete or KNOWN.get(metavar)
    return typer.Option(*names, metavar=metavar, help=words, autocompletion=known, show_default=show_default)


Data = Annotated[
    list[Path], typer.Argument(metavar="DATA", show_default=False, help="A CSV file, several, or a folder of them.")
]
ProtocolName = Annotated[
    str, option("P", "A shipped protocol, or the path of a TOML.", "--protocol", show_default=False)
]
Model = Annotated[str, option("NAME", "The model, or FILE.py:CLASS for one of your own.", complete=complete_model)]
Models = Annotated[str, option("NAME,...", "The models; FILE.py:CLASS is one of your own.")]
Participants = Annotated[Path | None, option("FILE", "A CSV with one row a person; joins covariates by subject.")]
Param = Annotated[list[str] | None, option("NAME=VALUE", "Any other parameter of the model; can be repeated.")]
Fix = Annotated[list[str] | None, option("NAME=VALUE", "A parameter that is not fitted; can be repeated.")]
By = Annotated[str | None, option("COLUMN", "The trials' condition, if people's parameters differ between conditions.")]
Vary = Annotated[str | None, option("NAME,...", "The parameters that do; the others are shared.")]
Seed = Annotated[int, typer.Option(help="Chooses all draws.")]
Workers = Annotated[int | None, option("N", "Processes on this machine; all cores by default.")]
NewFolder = Annotated[Path, option("DIR", "A new folder, or one to go on in after a stop.", show_default=False)]
NewFile = Annotated[Path, option("FILE", "The CSV to write.", show_default=False)]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", show_default=False, help="A run folder.")]
KINDS = "jspsych, psychopy, gorilla, labjs, bids, table, or auto, which tells by the columns"
Kind = Annotated[str, option("KIND", f"The program that wrote them: {KINDS}.", "--from", "--kind")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


class Options:
    """Options that belong together: a command takes all of them as one argument, and has each of them."""


@dataclass(frozen=True)
class LearningValues(Options):
    """Parameters of learning, by options of their own."""

    alpha: Annotated[str | None, option("VALUE", "Concentration: how readily causes are opened.")] = None
    omega: Annotated[str | None, option("VALUE", "Pseudocount of features, and stickiness.")] = None
    depth_scale: Annotated[str | None, option("VALUE", "Decay of the concentration with depth.")] = None

    def given(self, others: Sequence[str] | None) -> dict[str, str]:
        """Return the parameters that were given, by their own option or as NAME=VALUE."""
        values = {name: value for name, value in asdict(self).items() if value is not None}
        problems = Problems()
        for name, value in _pairs(others or (), "--param", "NAME=VALUE", problems):
            if name in values:
                problems.add(f"option --param {name}", value, f"one value for {name}")
            values[name] = value
        problems.raise_if_any()
        return values


@dataclass(frozen=True)
class Values(LearningValues):
    """The same, with those of responding."""

    beta: Annotated[str | None, option("VALUE", "How strictly choices follow predictions.")] = None
    lapse: Annotated[str | None, option("VALUE", "Proportion of random choices.")] = None


@dataclass(frozen=True)
class Filters(Options):
    """How an observer's filters are run."""

    particles: Annotated[int, typer.Option(help="Hypotheses that an observer holds.")] = 200
    resampling: Annotated[str, option("KIND", "systematic or multinomial.")] = "systematic"
    branch_counts: Annotated[str, option("KIND", "Counts by particle, or shared as published.")] = "particle"
    sticky_by: Annotated[str, option("KIND", "Stickiness by branch, or by node as published.")] = "branch"
    max_depth: Annotated[int, typer.Option(help="Levels of a tree, at most.")] = 20
    max_branches: Annotated[int, typer.Option(help="Branches at a level, at most.")] = 20

    def observer(self) -> hf.Observer:
        """Return the observer that they describe, who checks them."""
        return hf.Observer(**asdict(self))


@dataclass(frozen=True)
class Effort(Options):
    """With which preset is fitted."""

    preset: Annotated[
        str | None, option("NAME", "default, quick, careful, or the path of a TOML.", complete=PRESETS)
    ] = None
    quick: Annotated[bool, typer.Option("--quick", help="A first look: the preset quick.")] = False

    def chosen(self) -> str | None:
        """Return the name of the preset, or nothing if none is given."""
        if self.quick and self.preset is not None:
            raise typer.BadParameter("--quick is a preset itself, and has no meaning with --preset")
        return "quick" if self.quick else self.preset


@dataclass(frozen=True)
class Work(Options):
    """Who does long work, and with which luck."""

    seed: Seed = 0
    workers: Workers = None
    dask: Annotated[str | None, option("ADDRESS", "A Dask cluster instead: its scheduler, as tcp://HOST:8786.")] = None


@dataclass(frozen=True)
class Pooling(Options):
    """How people are pooled."""

    leave_out: Annotated[list[str] | None, option("SUBJECT", "Someone to leave out; can be repeated.")] = None
    preset: Annotated[
        str, option("NAME", "Whose [pooling] is used: a preset, or the path of a TOML.", complete=PRESETS)
    ] = "default"
    seed: Seed = 0
    workers: Workers = None

    def chosen(self) -> tuple[GroupPrior, Sampling]:
        """Return what the preset says about groups: their prior, and how they are sampled."""
        from holmes_fit.groups.pooling.priors import prior_of
        from holmes_fit.groups.pooling.sampling import sampling_of
        from holmes_fit.models.registry import check_count
        from holmes_fit.settings.preset import load_preset

        problems = Problems()
        check_count("seed", self.seed, problems, least=0)
        if self.workers is not None:
            check_count("workers", self.workers, problems)
        problems.raise_if_any()
        said = load_preset(self.preset).pooling
        return prior_of(said), sampling_of(said, self.seed, self.workers)


@dataclass(frozen=True)
class RawFiles(Options):
    """What is made of raw files."""

    keep: Annotated[list[str] | None, option("COLUMN=VALUE,...", "Rows to keep; can be repeated.")] = None
    drop: Annotated[list[str] | None, option("COLUMN=VALUE,...", "Rows to leave out; can be repeated.")] = None
    subject: Annotated[str | None, option("COLUMN", 'Names the person; "file name" takes the name of the file.')] = None
    rename: Annotated[list[str] | None, option("OLD=NEW", "A new name of a column; can be repeated.")] = None
    sheet: Annotated[str | None, option("NAME", "The sheet of a workbook that has several.")] = None

    def read(self, paths: list[Path], kind: str) -> Imported:
        """Import files as the options say."""
        problems = Problems()
        new_names = list(_pairs(self.rename or (), "--rename", "OLD=NEW", problems))
        for name in {old for old, _ in new_names if [each for each, _ in new_names].count(old) > 1}:
            problems.add("option --rename", name, "one new name for each column")
        keep, drop = (
            _values(texts or (), name, problems) for texts, name in ((self.keep, "--keep"), (self.drop, "--drop"))
        )
        problems.raise_if_any()
        names = dict(new_names)
        return hf.import_files(paths, kind, keep=keep, drop=drop, subject=self.subject, rename=names, sheet=self.sheet)


def _values(texts: Sequence[str], option: str, problems: Problems) -> dict[str, list[str]]:
    """Return the values by column; quotation marks keep a comma in a value, as in a CSV."""
    found: dict[str, list[str]] = {}
    for text in texts:
        name, equals, values = text.partition("=")  # values, such as the HTML of a stimulus, may have more of them
        if equals and name.strip():
            found.setdefault(name.strip(), []).extend(next(csv.reader([values], skipinitialspace=True), []) or [""])
        else:
            problems.add(f"option {option}", text, "COLUMN=VALUE,...")
    return found


def models_in(text: str | None) -> list[str] | None:
    """Return the names in a text such as ``flat,my_models.py:Alcove2``, or nothing for no text; files are loaded."""
    return None if text is None else [model_in(name) for name in text.split(",")]


def model_in(text: str) -> str:
    """Return the name of a model that is given by its name, or as FILE.py:CLASS, which is loaded."""
    return hf.load_model(text.strip()) if ":" in text else text.strip()


def naming(models: str | None) -> list[str]:
    """Return what names models of one's own again in the next command, as no file is run unasked."""
    return ["--models", models] if models and ":" in models else []


def fixed_values(fix: Sequence[str] | None) -> dict[str, float] | None:
    """Return what ``--fix`` says."""
    return numbers_by_name(",".join(fix) if fix else None, "--fix")


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
