"""What came of a run, a line a model."""

import pandas as pd

from holmes_fit.fitting.cohort import Fits
from holmes_fit.fitting.person import NO_BETTER
from holmes_fit.models.responses.registry import names_of_responding

NOISY = "noisy likelihood"  # how the warning begins
SHOWN = ("alpha", "omega")


def model_summary(fits: Fits) -> pd.DataFrame:
    """Return a row for each model, in the order of the tables.

    ``alpha`` and ``omega`` are medians over people of their posterior medians. ``log_evidence`` is the sum over those
    who were fitted with all models, so that sums can be compared; they are ``in_all``. ``noisy``, ``at_bound`` and
    ``warned`` say how many people have a noisy likelihood, a best fit at a bound of a learning parameter, any warning.
    """
    models, parameters = fits.models, fits.parameters
    names = models["model"].unique()
    counts = models.groupby("subject")["model"].count()
    complete = models["subject"].isin(counts.index[counts == len(names)])
    rows = []
    for name in names:
        own = models[models["model"] == name]
        of_parameters = parameters[parameters["model"] == name]
        is_at_bound = of_parameters["at_bound"] != ""
        is_of_responding = of_parameters["parameter"].isin(names_of_responding())
        medians = of_parameters.groupby("parameter")["median"].median()
        rows.append(
            {
                "model": name,
                "people": len(own),
                **{parameter: medians.get(parameter) for parameter in SHOWN},
                "log_evidence": own.loc[complete, "log_evidence"].sum(),
                "in_all": int(complete[own.index].sum()),
                "noisy": int(own["warning"].str.contains(NOISY, regex=False).sum()),
                "at_bound": of_parameters.loc[is_at_bound & ~is_of_responding, "subject"].nunique(),
                "no_better": int(own["warning"].str.contains(NO_BETTER, regex=False).sum()),
                "warned": int((own["warning"] != "").sum()),
            }
        )
    return pd.DataFrame(
        rows, columns=["model", "people", *SHOWN, "log_evidence", "in_all", "noisy", "at_bound", "no_better", "warned"]
    )
