"""Figures and pages: one style for all of them."""
