"""Simulation studies: whether a design can tell what it is meant to tell, and whether the answers are calibrated.

``truths`` says who is simulated, ``people`` lets them answer, and ``plan`` puts a study together; ``study`` does it.
``estimates``, ``choosing``, ``power`` and ``calibration`` compare what was found with the truth, after ``pooled`` has
made groups, and ``group_study`` calibrates pooling itself; ``words`` and ``figures`` say what came of it.
"""

from __future__ import annotations

from holmes_fit.recovery.people import Copied, Generated, simulate_people
from holmes_fit.recovery.plan import RecoveryPlan, plan_recovery
from holmes_fit.recovery.study import Recovery, read_recovery, recover
from holmes_fit.recovery.truths import Truth, draw_truths, posterior_truths
from holmes_fit.recovery.words import in_words

__all__ = [
    "Copied",
    "Generated",
    "Recovery",
    "RecoveryPlan",
    "Truth",
    "draw_truths",
    "in_words",
    "plan_recovery",
    "posterior_truths",
    "read_recovery",
    "recover",
    "simulate_people",
]
