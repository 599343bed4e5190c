"""Everyone in a cohort fitted with every model: pieces of work that are spread, kept as they come, and made tables.

``person`` fits one person with one model, ``request`` says what is to be done, ``cohort`` does it into a run folder,
and ``tables`` makes CSV files of the records there.
"""
