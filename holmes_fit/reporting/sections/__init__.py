"""The sections of the cohort report, a module each."""
