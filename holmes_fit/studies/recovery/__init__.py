"""Simulation studies: whether a design can tell what it is meant to tell, and whether the answers are calibrated.

``people`` says who is simulated and lets them answer, and ``setup`` puts a study together; ``study`` does it, with a
run folder for each of its cohorts. ``estimates``, ``choosing`` and ``power`` compare what was found with the truth,
after ``pooled`` has made groups, and ``group_study`` calibrates pooling itself; ``findings`` and ``figures`` say what
came of it, from the ``results``.
"""
