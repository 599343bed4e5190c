"""The bench of the choice likelihood: estimators from few filters, held against references from very many.

An estimator is given the p-hat traces of R filters at one point of the learning parameters and at the points that would
be its neighbours on a lattice, the choices, and the response parameters. The truth is the logarithm of the expectation
over filters of the product over trials.

``cases``       who is asked where
``estimators``  the registry
``scores``      estimators against references

Run with ``python -m benchmarks.likelihood``. Tables are kept in reports/fitting/likelihood, or where ``--keep`` says;
the references are there, too. ``make references`` makes them, and has the rules of the cases, in revision e0fce49.

``--weather`` is the file of real people, who are skipped without it. ``--case`` and ``--estimator``, which can be given
several times, do some of them; ``--filters`` is how many each set has.
"""
