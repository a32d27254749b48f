"""Evaluations as files: one of JSON lines each, which only grows, so that a killed run goes on where it stopped.

The first line is the header, each other line a run or what a rule said to an example. They hold what agents read under
other people's rights: the folder is this machine's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

from ukai import record
from ukai.app import workspace
from ukai.kit import canonical, document, shape, suggest
from ukai.kit.errors import PermanentError
from ukai.measure.evaluation import Evaluation, Header, Judged, Kept
from ukai.record import draft

FOLDER = "evals"
SUFFIX = ".jsonl"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}\Z")

T = TypeVar("T")


class NoSuchEvaluation(PermanentError):
    """No evaluation has this name, and no file is there."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"there is no evaluation {name!r}", hint=suggest.hint_for(name, known).capitalize())
        self.known = known


class BrokenEvaluation(PermanentError):
    """A file is none, or was written by another version."""

    hint = "Run the evaluation again, or read it with the version that wrote it"


class BadName(PermanentError):
    """A name that cannot be a file's."""

    hint = "Use letters, digits, points, hyphens and underscores, at most 80"


def folder(root: Path) -> Path:
    """Where the evaluations of the workspace at `root` lie; made when missing."""
    found = workspace.local(root) / FOLDER
    found.mkdir(mode=0o700, exist_ok=True)
    return found


def names(root: Path) -> list[str]:
    """All of them, the newest last."""
    files = sorted(folder(root).glob(f"*{SUFFIX}"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    return [path.name.removesuffix(SUFFIX) for path in files]


def path_of(root: Path, name: str) -> Path:
    """The file of an evaluation by its name, or a file anywhere (a pinned baseline). Raises BadName."""
    if name.endswith(SUFFIX):
        return Path(name)
    if not _NAME.match(name):
        raise BadName(f"{name!r} cannot be the name of an evaluation")
    return folder(root) / f"{name}{SUFFIX}"


def begin(path: Path, header: Header) -> None:
    """A new file with its header."""
    path.write_text(canonical.dumps({"evaluation": header.as_json()}) + "\n", encoding="utf-8")
    path.chmod(0o600)


def append(path: Path, what: Kept | Judged) -> None:
    """One more line. What a killed process left half written ends before it."""
    kind = "kept" if isinstance(what, Kept) else "judged"
    with path.open("a", encoding="utf-8") as file:
        file.write("\n" + canonical.dumps({kind: record.as_json(what)}) + "\n")


def read(root: Path, name: str) -> Evaluation:
    """An evaluation as far as it got. Raises NoSuchEvaluation, BrokenEvaluation."""
    path = path_of(root, name)
    if not path.is_file():
        raise NoSuchEvaluation(name, names(root))
    header: Header | None = None
    kept: dict[tuple[str, int], Kept] = {}
    judged: dict[str, Judged] = {}
    for line in _lines(path):
        if "evaluation" in line:
            header = _parsed(line["evaluation"], Header, path)
        elif "kept" in line:
            one = _parsed(line["kept"], Kept, path)
            kept.setdefault((one.question, one.rep), one)
        elif "judged" in line:
            said = _parsed(line["judged"], Judged, path)
            judged.setdefault(said.example, said)
    if header is None:
        raise BrokenEvaluation(f"{str(path)!r} is no evaluation: it has no header")
    return Evaluation(header=header, kept=tuple(kept.values()), judged=tuple(judged.values()))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").split("\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue  # half a line of a killed process: its run is asked again
        if isinstance(value, dict):
            yield cast("dict[str, Any]", value)


def _parsed(value: Any, kind: type[T], path: Path) -> T:
    made, findings = shape.parse(document.Document(name=path.name, data=value), kind)
    if made is None:
        raise BrokenEvaluation(f"{str(path)!r} cannot be read: {findings[0]}")
    return made


def pin(root: Path, name: str, to: Path) -> None:
    """A copy of a finished evaluation, to be kept with the code: the baseline of a gate."""
    evaluation = read(root, name)
    begin(to, evaluation.header)
    for one in (*evaluation.kept, *evaluation.judged):
        append(to, one)


def forget(root: Path, person: str) -> int:
    """Remove a person from all evaluations of this machine: their runs go, their name is masked in those of others.

    How many files it touched. Cassettes are not among them: whoever records one keeps it where it is asked for.
    """
    touched = 0
    for name in names(root):
        path = path_of(root, name)
        if person.casefold() not in path.read_text(encoding="utf-8").casefold():
            continue
        evaluation = read(root, name)
        rest = [one for one in evaluation.kept if one.run.principal.casefold() != person.casefold()]
        lines = [{"evaluation": evaluation.header.as_json()}]
        lines += [{"kept": record.as_json(one)} for one in rest] + [
            {"judged": record.as_json(j)} for j in evaluation.judged
        ]
        fresh = path.with_suffix(".new")
        fresh.write_text(
            "".join(canonical.dumps(draft.hidden(line, person)) + "\n" for line in lines), encoding="utf-8"
        )
        fresh.chmod(0o600)
        fresh.replace(path)
        touched += 1
    return touched
