"""Which model describes these people, how surely, and whether any of them describes what people do.

``compare`` is the whole of it. ``groups`` says who is compared with whom, ``omnibus`` how surely one model is the most
frequent, ``prediction`` leaves people out, ``prior_sensitivity`` takes other priors, ``predictive`` simulates cohorts
from the posterior, ``tables`` and ``words`` say what was found.
"""
