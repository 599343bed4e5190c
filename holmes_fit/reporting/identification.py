"""How well a parameter is known from one person's choices: the words that studies and reports share."""

from math import isnan

# From which correlation of the posterior mean with the truth on.
STRENGTHS = ((0.8, "well identified"), (0.6, "fairly identified"), (0.3, "weakly identified"))
HARDLY = "hardly identified"
WEAK = ("weakly identified", HARDLY)
FEWEST_FOR_CORRELATION = 20  # people, with whom a correlation of 0 is estimated to within .22
HELPS = (
    "a longer or more informative design, if holmes-fit plan says so; more replicates where the likelihood is noisy; "
    "and above all pooling people: a group's mean is known far better than one person's value."
)


def tells_by_correlation(correlation: float, people: int) -> bool:
    """Return whether there is a correlation, and of so many people that it means something."""
    return not isnan(correlation) and people >= FEWEST_FOR_CORRELATION


def strength(correlation: float, variance_removed: float, people: int) -> str:
    """Return how well one person's value is known.

    If posteriors are right, the share of the prior's variance that choices remove is the square of the correlation of
    posterior means with the truth, and stands in for it where people are few.
    """
    root = max(0.0, variance_removed) ** 0.5
    judged = correlation if tells_by_correlation(correlation, people) else root
    return next((words for least, words in STRENGTHS if judged >= least), HARDLY)
