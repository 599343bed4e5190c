"""``holmes-fit trace``: a model's predictions for every trial of real or simulated people."""

from typing import Annotated

import typer

import holmes_fit as hf
from holmes_fit._support.atomic import check_outputs
from holmes_fit._support.csv_tables import write_table
from holmes_fit._support.progress import progress_bar
from holmes_fit.cli import options
from holmes_fit.cli.app import command
from holmes_fit.cli.output import Output


@command(
    "holmes-fit trace pilot.csv --protocol weather_prediction --alpha 1 --omega 0.5 --out traces.csv",
    "holmes-fit trace data/ --protocol shepard --model flat --replicates 32 --seed 1 --out traces.csv",
    "holmes-fit trace pilot.csv --protocol reversal --model rescorla_wagner --param learning_rate=0.1 \\",
    "    --out traces.csv",
)
def trace(
    data: options.Data,
    protocol: options.ProtocolName,
    out: options.NewFile,
    participants: options.Participants = None,
    model: options.Model = "holmes",
    *,
    values: options.LearningValues,
    param: options.Param = None,
    replicates: Annotated[int, typer.Option(help="Independent filters for each learner.")] = 8,
    seed: options.Seed = 0,
    filters: options.Filters,
    force: options.Force = False,
    say: Output,
) -> None:
    """Write a model's predictions, trial by trial.

    The CSV has one row for each subject, restart, trial and replicate; p_hat is the probability of outcome 1 that the
    model predicts before it is shown. Use it as a regressor elsewhere.
    """
    check_outputs([out], force)
    given = {name: options.as_number(text) for name, text in values.given(param).items()}
    observer = filters.observer()
    cohort = hf.read_cohort(data, protocol, participants)
    with progress_bar("tracing", say.quiet) as progress:
        traces = hf.trace_cohort(
            cohort,
            options.model_in(model),
            given,  # type: ignore[arg-type]  # a text that is no number is refused where the parameters are known
            replicates=replicates,
            seed=seed,
            observer=observer,
            progress=progress,
        )
    write_table(traces, out)
    say.found(people=len(cohort.subjects), rows=len(traces))
    say.wrote(out)
