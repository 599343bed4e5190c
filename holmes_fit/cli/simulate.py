"""``holmes-fit simulate``: a cohort with known parameters."""

from pathlib import Path
from typing import Annotated

import typer

import holmes_fit as hf
from holmes_fit._support.atomic import check_outputs
from holmes_fit._support.progress import progress_bar
from holmes_fit.cli import options
from holmes_fit.cli.app import command
from holmes_fit.cli.options import option
from holmes_fit.cli.output import Output, shell


@command(
    "holmes-fit simulate --protocol compositional_3 --alpha 0.8 --omega 0.3 --seed 1 --out cohort.csv",
    "holmes-fit simulate --protocol reversal --alpha lognormal:0.8,0.5 --missed 0.05 --out cohort.csv",
    "holmes-fit simulate --protocol shepard --mix flat=0.4,holmes=0.6 --subjects 50 --out cohort.csv",
    "holmes-fit simulate --protocol weather_prediction --groups control=10,patient=10 \\",
    "    --omega 0.3 --param patient.omega=1.2 --out cohort.csv",
    "holmes-fit simulate --protocol protocols/two_sessions.toml --conditions placebo,drug \\",
    "    --omega lognormal:0.3,0.5 --param drug.omega=lognormal:0.6,0.5 --out cohort.csv",
)
def simulate(
    protocol: options.ProtocolName,
    out: Annotated[Path, option("FILE", "The CSV; the truth goes beside it.", show_default=False)],
    model: Annotated[
        str | None, option("NAME", "Everyone's model; holmes by default.", complete=options.complete_model)
    ] = None,
    mix: Annotated[str | None, option("MODEL=SHARE,...", "Instead: each person's model is drawn.")] = None,
    subjects: Annotated[int | None, option("N", "Number of people; 20 by default.")] = None,
    groups: Annotated[str | None, option("GROUP=N,...", "Instead: people in each group.")] = None,
    conditions: Annotated[
        str | None, option("NAME,...", "Everyone learns anew in each, as the protocol restarts.")
    ] = None,
    *,
    values: options.Values,
    param: options.Param = None,
    missed: Annotated[float, typer.Option(help="Probability that an answer is missed.")] = 0.0,
    seed: options.Seed = 0,
    filters: options.Filters,
    force: options.Force = False,
    say: Output,
) -> None:
    """Simulate people with known parameters.

    Their trials go to --out as a file that the protocol reads, the truth about them to NAME.truth.csv beside it.

    A VALUE is a number for everyone, or drawn for each person: lognormal:MEDIAN,SD_OF_THE_LOG (alpha, omega, beta,
    learning_rate), logitnormal:MEDIAN,SD_OF_THE_LOGIT (lapse, choice_probability), loguniform:LOW,HIGH or
    uniform:LOW,HIGH. With groups, --param GROUP.NAME=VALUE holds for one of them, with conditions CONDITION.NAME=VALUE.
    """
    from holmes_fit.studies.simulation import write_simulation

    if model is not None and mix is not None:
        raise typer.BadParameter("--model has no meaning with --mix")
    if subjects is not None and groups is not None:
        raise typer.BadParameter("--subjects has no meaning with --groups")
    shares = options.numbers_by_name(mix, "--mix")
    check_outputs([out], force)
    outputs = [out, out.with_suffix(".truth.csv")]
    check_outputs(outputs, force)
    with progress_bar("simulating", say.quiet) as progress:
        simulation = hf.simulate(
            protocol,
            options.model_in(model or "holmes"),
            20 if subjects is None else subjects,
            values.given(param),
            mix=None if shares is None else {options.model_in(name): share for name, share in shares.items()},
            groups=options.numbers_by_name(groups, "--groups"),  # type: ignore[arg-type]  # refused there if not whole
            missed=missed,
            seed=seed,
            observer=filters.observer(),
            conditions=() if conditions is None else [name.strip() for name in conditions.split(",")],
            progress=progress,
        )
    write_simulation(simulation, *outputs)
    truth = simulation.truth
    people = truth.drop_duplicates("subject")
    say.found(people=len(people), models=people["model"].value_counts().to_dict(), trials=len(simulation.cohort.trials))
    say.wrote(*outputs)
    say.next(shell("fit", out, "--protocol", protocol, "--quick", "--out", "runs/look"))
