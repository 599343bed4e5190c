"""What the demo found, beside the truth from which its people were made.

Run by ``make demo``, which says what the truth is: ``python -m benchmarks.demo runs/demo runs/demo.truth.csv holmes
alpha=0.8 omega=1.5``. Intervals are those of 95%, of the group's median and of people as members of the group.
"""

from pathlib import Path

import pandas as pd

from benchmarks import command


def group_lines(run: Path, model: str, truth: dict[str, float]) -> list[str]:
    """Return a line for each parameter of the group, and how many intervals hold the truth."""
    table = pd.read_csv(run / "group.csv").query("model == @model and quantity == 'median'").set_index("parameter")
    lines, holding = [], 0
    for name, value in truth.items():
        found = table.loc[name]
        holds = found["lower"] <= value <= found["upper"]
        holding += holds
        interval = f"{found['median']:.3g} ({found['lower']:.3g} to {found['upper']:.3g})"
        lines.append(f"  {name:6} truth {value:<6g} found {interval:24} {'holds it' if holds else 'misses it'}")
    return [*lines, f"The group's median: {holding} of {len(truth)} intervals hold the truth."]


def people_line(run: Path, people: pd.DataFrame, model: str, parameters: list[str]) -> str:
    """Say for how many people each parameter's interval holds the truth."""
    pooled = pd.read_csv(run / "pooled.csv", dtype={"subject": str}).query("model == @model")
    true = people.melt(id_vars="subject", value_vars=parameters, var_name="parameter", value_name="truth")
    both = pooled.merge(true, on=["subject", "parameter"])
    holds = both["truth"].between(both["lower"], both["upper"]).groupby(both["parameter"]).sum()
    return f"Of {len(people)} people: " + ", ".join(f"{name} {holds[name]}" for name in parameters) + "."


def model_line(run: Path, people: pd.DataFrame, model: str) -> str:
    """Say how many people follow a model, and how many were found to."""
    found = pd.read_csv(run / "frequencies.csv").query("model == @model").iloc[0]
    share = (people["model"] == model).mean()
    return (
        f"{model}: {share:.0%} of the people follow it; share found {found['median']:.0%} "
        f"({found['lower']:.0%} to {found['upper']:.0%})."
    )


def main(run: Path, people_file: Path, model: str, medians: list[str]) -> None:
    truth = {name: float(value) for name, _, value in (each.partition("=") for each in medians)}
    people = pd.read_csv(people_file, dtype={"subject": str})
    print(f"The truth beside what was found, {model}:")
    print(*group_lines(run, model, truth), sep="\n")
    print(people_line(run, people, model, list(truth)))
    print(model_line(run, people, model))


if __name__ == "__main__":
    command(main)
