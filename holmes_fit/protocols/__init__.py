"""Protocols: how a task is coded in a file and, where it can be simulated, how its trials are made.

One TOML file is one protocol. The same protocol reads participants' data and simulates new data.
"""

from __future__ import annotations

from holmes_fit.protocols.catalogue import load_protocol, protocol_file, protocol_names, read_protocol
from holmes_fit.protocols.schema import Coding, Columns, Exclusions, Feature, Protocol

__all__ = [
    "Coding",
    "Columns",
    "Exclusions",
    "Feature",
    "Protocol",
    "load_protocol",
    "protocol_file",
    "protocol_names",
    "read_protocol",
]
