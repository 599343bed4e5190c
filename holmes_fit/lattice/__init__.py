"""One person, one model: the likelihood on a lattice of parameters, and the posterior that it gives."""

from __future__ import annotations

from holmes_fit.lattice.explored import Explored
from holmes_fit.lattice.exploring import explore
from holmes_fit.lattice.posterior import Posterior, posterior_of
from holmes_fit.lattice.task import Task

__all__ = ["Explored", "Posterior", "Task", "explore", "posterior_of"]
