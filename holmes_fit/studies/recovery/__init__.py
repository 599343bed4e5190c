"""Simulation studies: whether a design can tell what it is meant to tell, and whether the answers are calibrated.

``truths`` says who is simulated, ``people`` lets them answer, and ``plan`` puts a study together; ``study`` does it.
``estimates``, ``choosing``, ``power`` and ``calibration`` compare what was found with the truth, after ``pooled`` has
made groups, and ``group_study`` calibrates pooling itself; ``words`` and ``figures`` say what came of it.
"""
