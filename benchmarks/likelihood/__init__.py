"""The bench of the choice likelihood: estimators from few filters, held against references from very many.

An estimator is given the p-hat traces of R filters at one point of the learning parameters and at the points that would
be its neighbours on a lattice, the choices, and the response parameters. The truth is the logarithm of the expectation
over filters of the product over trials.

``cases``       who is asked where: drawn once, by the rules in ``cases.toml``
``references``  the truth, by brute force or by tempering over luck
``tempering``   a sampler over the luck of filters, for cases that brute force cannot decide
``estimators``  the registry
``scores``      estimators against references

``python -m benchmarks.likelihood references``, then ``score``; ``check`` holds tempering against brute force. Tables
are kept in reports/fitting/likelihood, or where ``--keep`` says.

``--weather`` is the file of real people, who are skipped without it. ``--case`` and ``--estimator``, which can be given
several times, do some of them; ``--filters`` is how many each set has. ``--again N`` tries references anew that did not
come out, with chains N times as long.
"""
