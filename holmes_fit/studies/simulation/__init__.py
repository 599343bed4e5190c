"""Simulated people: a protocol and a model make a cohort, with the truth about it."""
