"""Libraries beneath holmes_fit talk to programmers. On the command line, people are spared that."""

from __future__ import annotations

import logging
import os
import sys
import warnings

from holmes_fit._support.caches import set_pytensor_flag


def silence_libraries() -> None:
    """Let libraries say nothing but errors, here and in processes that are begun from here.

    Whoever sets ``PYTHONWARNINGS`` or gives ``python -W`` wants to hear them, and does.
    """
    if sys.warnoptions:
        return
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    os.environ["PYTHONWARNINGS"] = "ignore"
    # PyTensor is not to look for a C++ compiler, nor to say that it has found none: nothing here is compiled with one.
    set_pytensor_flag("cxx", "")
