"""Slow, exact references that share no code with the package they check."""
