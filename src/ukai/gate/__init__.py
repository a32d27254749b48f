"""The write gate: every change is a proposal, judged by the schema, the contract and the database, and lands whole."""

from __future__ import annotations

from ukai.gate.rights import ALL
from ukai.gate.submit import Committed, Rejected, submit

__all__ = ["ALL", "Committed", "Rejected", "submit"]
