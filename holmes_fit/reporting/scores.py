"""What people did, from the trials of a run: scores of each person, and intervals."""

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from holmes_fit.reporting.run_data import CohortData
from holmes_fit.trials.cohorts import hits


def people_table(data: CohortData) -> pd.DataFrame:
    """Return a row for each person who was fitted: trials, answers, missed answers, accuracy, share of answers 1."""
    trials = data.trials
    answered = trials["choice"].notna()
    marks = trials[["subject", "group"]].assign(
        trials=1,
        answered=answered.astype(np.int64),
        missed=(~answered).astype(np.int64),
        no_feedback=(~trials["feedback"].astype(bool)).astype(np.int64),
        accuracy=hits(trials["choice"], trials["outcome"]).to_numpy(dtype=np.float64, na_value=np.nan),
        answers_1=trials["choice"].astype(np.float64),
        outcomes_1=trials["outcome"].astype(np.float64),
    )
    how = {**dict.fromkeys(marks.columns[2:6], "sum"), **dict.fromkeys(marks.columns[6:], "mean")}
    return marks.groupby(["subject", "group"], sort=False, as_index=False).agg(how)


def half_interval(values: pd.Series) -> float:
    """Return half of Student's 95% interval of a mean; nothing for a single value."""
    if len(values) < 2:
        return float("nan")
    return float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values)))
