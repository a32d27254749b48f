"""Who may do what: principals, policies, field policies and budgets read from `access/`; decisions with reasons.

Pure: the files come in as documents, records as values, and what goes out to the database is a clause with parameters.

    access, findings = read(documents)
    rights = access.rights(access.audience(["ann@example.com"]), "deal-coach", "commercial_only", channel="cli")
    rights.invoke, rights.read(record), rights.visible(record), rights.sql("n", owning)
"""

from ukai.access.caller import Audience, Caller
from ukai.access.decision import Decision
from ukai.access.folder import Access, read
from ukai.access.record import ALL, OWNERS_DEPTH, Fields, OwningEdge, Record
from ukai.access.rights import Rights

__all__ = [
    "ALL",
    "OWNERS_DEPTH",
    "Access",
    "Audience",
    "Caller",
    "Decision",
    "Fields",
    "OwningEdge",
    "Record",
    "Rights",
    "read",
]
