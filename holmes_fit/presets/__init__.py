"""Presets: how fits are run and groups are pooled, as TOML files say.

``tables`` and ``pooling`` are what can be said, ``entries`` makes of it what is searched, and ``preset`` reads files.
"""

from holmes_fit.presets.pooling import PoolingSettings
from holmes_fit.presets.preset import Preset, load_preset, preset_names, with_fixed
from holmes_fit.presets.tables import LikelihoodSettings, ParameterSettings, PosteriorSettings, SearchSettings

__all__ = [
    "LikelihoodSettings",
    "ParameterSettings",
    "PoolingSettings",
    "PosteriorSettings",
    "Preset",
    "SearchSettings",
    "load_preset",
    "preset_names",
    "with_fixed",
]
