"""Simulated people: a protocol and a model make a cohort, with the truth about it."""

from __future__ import annotations

from holmes_fit.simulation.people import Simulation, simulate, simulated_choices, write_simulation

__all__ = ["Simulation", "simulate", "simulated_choices", "write_simulation"]
