"""The paper, reproduced: its simulations run with this engine, each result beside the published one."""

from __future__ import annotations

from holmes_fit.replication.run import WHICH, Replication, replicate

__all__ = ["WHICH", "Replication", "replicate"]
