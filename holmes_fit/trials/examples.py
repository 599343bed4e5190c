"""Cohorts that come with the package: simulated people, to try things on."""

from holmes_fit._support.errors import InputError, Problem, nearest, shown
from holmes_fit._support.study_files import study_folder
from holmes_fit.trials.cohorts import Cohort
from holmes_fit.trials.reading import read_cohort

EXAMPLES = {"weather": "weather_prediction", "categories": "compositional_3"}  # names, and files in data/


def example(name: str = "weather") -> Cohort:
    """Return a cohort that comes with the package. Its people are simulated, as its column ``source`` says.

    Parameters
    ----------
    name
        ``"weather"``: 10 controls and 10 patients with a weather prediction task, all of them learners of HOLMES, the
        patients with a larger Omega. ``"categories"``: 24 people with nested categories, of flat or of HOLMES.

    Returns
    -------
    Cohort
        The people, as :func:`holmes_fit.read_cohort` returns them.

    Raises
    ------
    InputError
        If there is no such example.

    Examples
    --------
    >>> import holmes_fit as hf
    >>> cohort = hf.example("weather")
    >>> len(cohort.subjects), len(cohort.trials), set(cohort.trials["source"])
    (20, 4000, {'simulated'})
    """
    if name not in EXAMPLES:
        raise InputError([Problem("argument name", shown(name), ", ".join(EXAMPLES), nearest(str(name), EXAMPLES))])
    return read_cohort(study_folder("data") / f"{EXAMPLES[name]}.csv", EXAMPLES[name])
