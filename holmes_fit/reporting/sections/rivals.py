"""What stands on the page of the comparison about other models: families, and what each would need to be preferred."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd

from holmes_fit._support.numbers import MISSING
from holmes_fit.reporting.blocks import Block, Panel, Row, Table, Text, numbers, texts
from holmes_fit.reporting.figures.comparison import draw_families
from holmes_fit.reporting.run_data import EVERYONE, CohortData
from holmes_fit.reporting.text import fixed

NEEDS = (
    "Differences are those of people's own evidences ± Monte Carlo errors. If a model gained as much for everyone, it "
    "would need the first number to be level in the sum over people, and the second to be ahead for half of them. Odds "
    "of 20 to 1 are 3 nats."
)


def families(data: CohortData) -> Iterator[Row]:
    """Show how frequent families of models are, where one of them has several models."""
    table = data["families"]
    if data.scope or not len(table):
        return
    own = table[(table["group"] == EVERYONE) & (table["n_models"] > 0)].sort_values("mean", ascending=False)
    if 1 < len(own) < own["n_models"].sum():
        labels = {
            str(row["family"]): ", ".join(map(data.words.label, str(row["models"]).split()))
            for row in own.to_dict("records")
        }
        draw = partial(draw_families, table=own, labels=labels)
        caption = "Families are equally likely beforehand, however many models they have. Means and 95% intervals."
        title = "How many people each family of models describes"
        panel = Panel("comparison_families", draw, title, caption, table=own)
        yield Row([panel], 26 + 14.0 * len(own), 30 + 20.0 * len(own))


def needs(data: CohortData, lead: str) -> Iterator[Block]:
    """Say by how much each other model is behind the leading one, and what it would need to be preferred."""
    found = shortfalls(data, lead)
    if not len(found):
        return
    rows = []
    for row in found.to_dict("records"):
        level, half = (f"+{fixed(row[name], 1)}" if row[name] > 0 else MISSING for name in ("mean", "median"))
        behind = f"{fixed(row['total'], 1)} ± {fixed(row['error'], 1)}"
        rows.append([data.words.label(str(row["model"])), f"{row['ahead']} of {row['n']}", behind, level, half])
    yield Text(f"What other models would need to be preferred to {data.words.label(lead)}", "heading")
    heads = ("ahead for", "behind, summed (nats)", "to be level: nats a person", "to be ahead for half: nats a person")
    yield Table([*texts("model"), *numbers(*heads)], rows)
    yield Text(NEEDS, "note")


def shortfalls(data: CohortData, lead: str) -> pd.DataFrame:
    """Return by how much the evidence of each other model of the mixture is behind, the nearest first."""
    table = data["model_probabilities"]
    wide = table.pivot_table(index="subject", columns="model", values=["log_evidence", "log_evidence_error"])
    evidence, errors = wide["log_evidence"], wide["log_evidence_error"]
    rows = []
    for model in [name for name in evidence if name != lead]:
        behind = (evidence[lead] - evidence[model]).dropna()
        error = float(np.sqrt((errors[lead] ** 2 + errors[model] ** 2)[behind.index].sum()))
        sums = {"ahead": int((behind < 0).sum()), "n": len(behind), "total": behind.sum(), "error": error}
        rows.append({"model": model, **sums, "mean": behind.mean(), "median": behind.median()})
    found = pd.DataFrame(rows)
    return found.sort_values("total", kind="stable", ignore_index=True) if len(found) else found
