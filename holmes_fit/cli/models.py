"""``holmes-fit models``: which models there are, what their parameters mean, and whether one keeps its promises."""

from dataclasses import asdict
from typing import Annotated

import typer

from holmes_fit.cli import options
from holmes_fit.cli.app import app, command, examples, speaking
from holmes_fit.cli.output import Output

models = typer.Typer(
    rich_markup_mode=None,
    epilog=examples("holmes-fit models", "holmes-fit models --json", "holmes-fit models check my_models.py:Alcove2"),
    help="List models and their parameters, or check your own.",
)
app.add_typer(models, name="models")


@models.callback(invoke_without_command=True)
@speaking
def list_models(context: typer.Context, *, say: Output) -> None:
    """List all models by family, with their parameters of learning, unless one is to be checked."""
    from holmes_fit.models.registry import MODELS, descriptions, parameters_of

    if context.invoked_subcommand is not None:
        return
    said = descriptions(MODELS.values())["models"]
    families = dict.fromkeys(words["family"] for words in said.values())
    lines = []
    for family in families:
        lines.append(f"{family}:")
        for model in (each for each in MODELS.values() if said[each.name]["family"] == family):
            lines.append(f"  {model.name}: {said[model.name]['meaning']}")
            lines += [
                f"    {each.name}: {each.meaning}{'' if each.free else f' (fixed at {each.default:g})'}"
                for each in model.parameters
            ]
    say.give("\n".join(lines))
    say.found(
        models=[
            {"name": model.name, **said[model.name], "parameters": [asdict(own) for own in parameters_of(model)]}
            for model in MODELS.values()
        ]
    )


@command("holmes-fit models check my_models.py:Alcove2", "holmes-fit models check holmes", of=models)
def check(
    model: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="FILE.py:CLASS, or a model of the package.", autocompletion=options.complete_model
        ),
    ],
    preset: Annotated[
        str, options.option("NAME", "Which is to know the priors of its parameters.", complete=options.PRESETS)
    ] = "default",
    *,
    say: Output,
) -> None:
    """Ask a model for what all models promise, and say what it does not keep.

    Its file is run. The promises are those that the models of the package are held to: predictions are probabilities,
    the same call gives the same answer, nothing depends on what is to come, and so on. Its parameters must have priors,
    too: in the preset, or their own.
    """
    from holmes_fit._support.errors import InputError, Problem, Problems, Quoted
    from holmes_fit.models.contract import CONTRACT, broken_promises
    from holmes_fit.models.registry import find_model
    from holmes_fit.settings.preset import load_preset

    name = options.model_in(model)
    found, problems = find_model(name), Problems()
    for promise, seen in broken_promises(found).items():
        problems.found.append(Problem(f"model {name}", Quoted(seen), promise))
    with problems.collected():
        load_preset(preset).space(found)
    if problems:
        raise InputError(problems)
    say.found(f"{name} keeps all {len(CONTRACT)} promises of a model, and can be fitted.", name=name, broken=[])
