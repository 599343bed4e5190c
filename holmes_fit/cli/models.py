"""``holmes-fit models``: which models there are, and what their parameters mean."""

from dataclasses import asdict

from holmes_fit.cli.app import command
from holmes_fit.cli.output import Output


@command("holmes-fit models", "holmes-fit models --json")
def models(*, say: Output) -> None:
    """List all models by family, with their parameters of learning."""
    from holmes_fit.models.registry import MODELS, descriptions, parameters_of

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
