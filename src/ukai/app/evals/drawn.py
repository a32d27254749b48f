"""`ukai eval case add RUN`: a case made of a saved run, with what it cited as what an answer needs (P8.7)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ukai import record
from ukai.app import files, workspace, yaml_text
from ukai.app import run as runs
from ukai.kit import document
from ukai.kit.errors import PermanentError
from ukai.kit.finding import Finding, errors
from ukai.measure import bank, firings

REPEATS = 3
_WORD = re.compile(r"[a-z0-9]+")


class NothingCited(PermanentError):
    """A case without anything that its answer needs would pass whatever is answered."""

    hint = "Choose a run with sources, or write the case by hand"


async def case(
    path: Path,
    run_id: str,
    *,
    principal: str | None,
    id: str | None = None,
    subject: str = "",
    into: Path | None = None,
) -> tuple[dict[str, Any], list[Finding]]:
    """Append the case to a file; what was written, or why it could not be. Raises NoSuchRun, NothingCited."""
    root = workspace.locate(path)
    run = (await runs.show(path, run_id, principal=principal)).run
    made = made_of(run, id=id, subject=subject)
    file = into or root / "agents" / run.agent / "cases" / "drawn.yaml"
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    text = f"{text.rstrip()}\n{entry(made)}" if text.strip() else entry(made)
    name = file.resolve().relative_to(root).as_posix() if file.resolve().is_relative_to(root) else file.name
    doc, findings = document.read(text.encode(), name=name)
    findings += bank.lint(doc) if doc is not None else []
    if errors(findings):
        return {}, findings
    files.write(file, text)
    return {"file": name, "case": made, "split": bank.split_of(subject or str(made["id"]))}, findings


def made_of(run: record.Run, *, id: str | None = None, subject: str = "") -> dict[str, Any]:
    """The case as it is written: question, asker, what was cited, the rules that passed. Raises NothingCited."""
    cited = list(dict.fromkeys(c.item_key for c in run.citations))
    if not cited:
        raise NothingCited(f"the run {run.run_id} cites nothing")
    passed = [rule for rule, said in firings.said(run).items() if said == "pass"]
    made: dict[str, Any] = {"id": id or _id(run), "ask": run.question, "as": run.principal}
    made |= {"subject": subject} if subject else {}
    made["requires"] = {"items": cited}
    made |= {"rules": {"should_pass": passed}} if passed else {}
    return made | {"repeats": REPEATS}


def _id(run: record.Run) -> str:
    """The question's first words, and the end of the run's id so that two runs of one question have two."""
    words = _WORD.findall(run.question.casefold())[:6]
    return "-".join([*words, run.run_id.rpartition("-")[2][-6:]])


def entry(case: dict[str, Any]) -> str:
    """One entry of a list in YAML."""
    lines = yaml_text.dumps(case).splitlines()
    return "".join(f"{'- ' if i == 0 else '  '}{line}\n" for i, line in enumerate(lines))
