"""Groups of people: distributions over their parameters, effects of covariates, and frequencies of models.

A person's likelihood lattice is integrated out exactly, so that NUTS samples nothing but the parameters of the group.
``lattices`` reads what a run has, ``draws`` holds groups against the lattices, ``priors`` and ``covariates`` say what a
group model is, ``sampling`` is its NUTS, ``pool`` and ``mixture`` fit it, ``behaviour`` regresses right answers on the
same covariates, ``tables`` and ``results`` make and write what was found.
"""
