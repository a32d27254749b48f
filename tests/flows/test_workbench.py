"""Real input: WorkBench's tables answer questions whose answers the tables themselves hold (P4.1, X2).

Source: olly-styles/WorkBench (MIT), read by path. The questions are made here from its rows, the gold by code.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import shared
from tests.context.world import Hashed
from tests.flows import company
from tests.flows.workbench import mapping
from ukai import gate
from ukai.app import ask, engine, identity
from ukai.gate import author, domains
from ukai.record import Run

pytestmark = shared.needs("enterprise", "workbench")

FILES = {
    "ukai.yaml": "company: workbench\nlocal_principal: sam@atlas.com\ndatabase: embedded\n",
    "models.yaml": 'aliases: {"<model>": extractive}\n',
    "access/groups.yaml": "groups: {staff: {members: [sam@atlas.com]}}\n",
    "access/policies.yaml": """\
policies:
  - {id: use, allow: invoke, agents: [desk], to: ["group:staff"], channels: [cli]}
  - {id: read, allow: read, records: {types: ["*"]}, to: ["group:staff"]}
""",
    "access/field_policies/all.yaml": """\
version: 1
allow: {Colleague: ["*"], Customer: ["*"], Message: ["*"], Event: ["*"], Task: ["*"], Visit: ["*"]}
""",
    "agents/desk/SKILL.md": """\
---
name: desk
description: Answers questions about customers, mails, meetings and tasks from their records.
model: <model>
channels: [cli]
field_policy: all
---

Answer from the records, and name the record.
""",
}
LEAST_SOURCES, LEAST_SAID = 0.65, 0.55
"""Measured over the 20 questions: 0.70 and 0.60. The table says `status` where the domain says `state`: of the six
that are missed five ask for it, which a model that only quotes cannot bridge.
"""


@dataclass(frozen=True)
class Made:
    """A question with the record that answers it, and the words of the answer."""

    ask: str
    handle: str
    gold: str


def rows(table: str) -> list[dict[str, str]]:
    with (mapping.FOLDER / f"{table}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def questions() -> list[Made]:
    """Three questions about customers whom WorkBench's own queries name, then about mails, events and tasks."""
    found: list[Made] = []
    queries = " ".join(row["answer"] for row in rows("customer_relationship_manager_queries_and_answers"))
    asked_about = list(dict.fromkeys(re.findall(r'update_customer\.func\(customer_id="(\d{8})"', queries)))[:5]
    customers = {row["customer_id"]: row for row in rows("customer_relationship_manager_data")}
    for row in (customers[i] for i in asked_about):
        name, at = row["customer_name"], f"Customer#{row['customer_id']}"
        found += [
            Made(f"Which status does {name} have?", at, row["status"]),
            Made(f"By when is the follow up of {name}?", at, row["follow_up_by"]),
            Made(f"To whom is {name} assigned?", at, row["assigned_to_email"]),
        ]
    for row in _alone(rows("emails"), "subject")[:5]:
        ask = f"Who is the correspondent of the mail “{row['subject']}”?"
        found.append(Made(ask, f"Message#{row['email_id']}", row["sender/recipient"]))
    for row in _alone(rows("calendar_events"), "event_name")[:4]:
        ask = f"When does the event “{row['event_name']}” start?"
        found.append(Made(ask, f"Event#{row['event_id']}", row["event_start"][:10]))
    for row in _alone(rows("project_tasks"), "task_name")[:5]:
        found.append(Made(f"When is the task “{row['task_name']}” due?", f"Task#{row['task_id']}", row["due_date"]))
    return found


def _alone(table: list[dict[str, str]], column: str) -> list[dict[str, str]]:
    """Rows whose name no other row bears."""
    count = Counter(row[column] for row in table)
    return [row for row in table if count[row[column]] == 1]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("workbench")
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (root / "domains").mkdir()
    (root / "domains" / "workbench.yaml").write_bytes(mapping.DOMAIN.read_bytes())
    return root


@pytest.fixture
async def opened(database_url: str, home: Path) -> AsyncIterator[engine.Engine]:
    async with company.opened(database_url, home, Hashed()) as made:
        intake = author.Author(kind="connector", id="service:workbench")
        for domain in made.catalog.domains.values():
            assert (await domains.upload(made.db, domain, author=intake, at=made.clock.now())).findings == ()
        for delta in mapping.deltas():
            done = await gate.submit(made.db, delta, author=intake, rights=gate.ALL, clock=made.clock)
            assert isinstance(done, gate.Committed)
        await made.catch_up()
        yield made


async def test_questions_are_answered_from_the_rows_that_hold_the_answers(
    opened: engine.Engine, record_property: Callable[[str, object], None]
):
    made = questions()
    assert len(made) >= 10
    sources, said = [], []

    for question in made:
        run = (await ask.ask(opened, "desk", question.ask, caller=identity.local("sam@atlas.com"))).run
        sources.append(is_source(run, question))
        said.append(run.answer is not None and question.gold in run.answer.markdown)

    record_property("evidence_cited", sum(sources) / len(made))
    record_property("answer_said", sum(said) / len(made))
    missed = [(q.ask, q.gold) for q, ok in zip(made, sources, strict=True) if not ok]
    assert sum(sources) / len(made) >= LEAST_SOURCES, missed
    assert sum(said) / len(made) >= LEAST_SAID, [(q.ask, q.gold) for q, ok in zip(made, said, strict=True) if not ok]


def is_source(run: Run, question: Made) -> bool:
    return any(c.item_key.partition("/")[0] == question.handle for c in run.citations)
