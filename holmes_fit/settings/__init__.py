"""Presets: how fits are run and groups are pooled, as TOML files say.

``tables`` and ``pooling`` are what can be said, ``entries`` makes of it what is searched, and ``preset`` reads files.
"""
