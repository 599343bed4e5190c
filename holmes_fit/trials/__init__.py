"""Participants' trials: reading any lab's CSV by a protocol, checking it, encoding it, and writing it again."""

from __future__ import annotations

from holmes_fit.trials.cohorts import MISSED, Cohort, Learner, build_cohort
from holmes_fit.trials.reading import Check, check_data, read_cohort
from holmes_fit.trials.summaries import cohort_summary, default_group, learning_curve, subject_summary
from holmes_fit.trials.writing import write_trials

__all__ = [
    "MISSED",
    "Check",
    "Cohort",
    "Learner",
    "build_cohort",
    "check_data",
    "cohort_summary",
    "default_group",
    "learning_curve",
    "read_cohort",
    "subject_summary",
    "write_trials",
]
