"""The report of a cohort: one PDF, made from a saved run alone. Nothing is fitted here."""
