"""Saved runs: what happened in one turn, kept while it happens, sealed at its end, read by every check afterwards.

    recorder = await Recorder.begin(db, Start(...), clock=clock)
    await recorder.add(Call(...))
    run = await recorder.seal("answered")

Compositions, commits and decisions are kept by the rooms that make them; a run holds their ids. The page is
docs/reference/run.md.
"""

from ukai.record import predicate
from ukai.record.draft import BrokenEntry, Draft, Entry, RunSealed, units_of
from ukai.record.label import Outcome, label
from ukai.record.recorder import Recorder
from ukai.record.rows import (
    Asked,
    Erased,
    Page,
    Sight,
    Summary,
    asked,
    close_abandoned,
    erase,
    page,
    read,
    retain,
)
from ukai.record.run import (
    SCHEMA,
    Answer,
    AnswerSentence,
    Build,
    Call,
    Citation,
    Config,
    Event,
    Firing,
    Item,
    Limits,
    Mark,
    Run,
    SeenFigure,
    Start,
    Usage,
)
from ukai.record.seal import as_json, dumps, for_its_reader, load, verify

__all__ = [
    "SCHEMA",
    "Answer",
    "AnswerSentence",
    "Asked",
    "BrokenEntry",
    "Build",
    "Call",
    "Citation",
    "Config",
    "Draft",
    "Entry",
    "Erased",
    "Event",
    "Firing",
    "Item",
    "Limits",
    "Mark",
    "Outcome",
    "Page",
    "Recorder",
    "Run",
    "RunSealed",
    "SeenFigure",
    "Sight",
    "Start",
    "Summary",
    "Usage",
    "as_json",
    "asked",
    "close_abandoned",
    "dumps",
    "erase",
    "for_its_reader",
    "label",
    "load",
    "page",
    "predicate",
    "read",
    "retain",
    "units_of",
    "verify",
]
