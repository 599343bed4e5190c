"""Planning a study: how many trials and participants it takes to know what one wants to know.

``lengths`` says how long the task of a protocol can be, ``question`` checks what is asked, ``study`` simulates and
fits people of every length, ``groups`` and ``measures`` make groups of them; ``words`` and ``figures`` say what came
of it.
"""

from __future__ import annotations

from holmes_fit.planning.lengths import possible_trials, with_trials
from holmes_fit.planning.question import Question, ask
from holmes_fit.planning.study import StudyPlan, plan, read_plan

__all__ = ["Question", "StudyPlan", "ask", "plan", "possible_trials", "read_plan", "with_trials"]
