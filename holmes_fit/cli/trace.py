"""``holmes-fit trace``: a model's predictions for every trial of real or simulated people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from holmes_fit._support.progress import progress_bar
from holmes_fit.cli.app import command
from holmes_fit.cli.options import (
    Alpha,
    BranchCounts,
    Data,
    DepthScale,
    Force,
    MaxBranches,
    MaxDepth,
    Omega,
    Param,
    Participants,
    Particles,
    ProtocolName,
    Resampling,
    Seed,
    StickyBy,
    as_number,
    complete_model,
    given_values,
    observer_of,
)
from holmes_fit.cli.output import Output


@command(
    "holmes-fit trace pilot.csv --protocol weather_prediction --alpha 1 --omega 0.5 --out traces.csv",
    "holmes-fit trace data/ --protocol shepard --model flat --replicates 32 --seed 1 --out traces.csv",
    "holmes-fit trace pilot.csv --protocol reversal --model rescorla_wagner --param learning_rate=0.1 \\",
    "    --out traces.csv",
)
def trace(
    data: Data,
    protocol: ProtocolName,
    out: Annotated[Path, typer.Option(metavar="FILE", show_default=False, help="The CSV to write.")],
    participants: Participants = None,
    model: Annotated[str, typer.Option(metavar="NAME", help="The model.", autocompletion=complete_model)] = "holmes",
    alpha: Alpha = None,
    omega: Omega = None,
    depth_scale: DepthScale = None,
    param: Param = None,
    replicates: Annotated[int, typer.Option(help="Independent filters for each learner.")] = 8,
    seed: Seed = 0,
    particles: Particles = 200,
    resampling: Resampling = "systematic",
    branch_counts: BranchCounts = "particle",
    sticky_by: StickyBy = "branch",
    max_depth: MaxDepth = 20,
    max_branches: MaxBranches = 20,
    force: Force = False,
    *,
    say: Output,
) -> None:
    """Write a model's predictions, trial by trial.

    The CSV has one row for each subject, restart, trial and replicate; p_hat is the probability of outcome 1 that the
    model predicts before it is shown. Use it as a regressor elsewhere.
    """
    from holmes_fit import read_cohort, trace_cohort
    from holmes_fit._support.atomic import check_outputs
    from holmes_fit._support.csv_tables import write_table

    check_outputs([out], force)
    values = {
        name: as_number(text)
        for name, text in given_values({"alpha": alpha, "omega": omega, "depth_scale": depth_scale}, param).items()
    }
    observer = observer_of(particles, resampling, branch_counts, sticky_by, max_depth, max_branches)
    cohort = read_cohort(data, protocol, participants)
    with progress_bar("tracing", say.quiet) as progress:
        traces = trace_cohort(
            cohort,
            model,
            values,  # type: ignore[arg-type]  # a text that is no number is refused where the parameters are known
            replicates=replicates,
            seed=seed,
            observer=observer,
            progress=progress,
        )
    write_table(traces, out)
    say.found(people=len(cohort.subjects), rows=len(traces))
    say.wrote(out)
