"""WorkBench's tables as records of `domain.yaml`, read by path: the same dicts and deltas as the sample company's.

Source: olly-styles/WorkBench (MIT), `data/processed`. Its times have no zone and are taken as UTC.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests import shared
from tests.examples import sample

FOLDER = shared.DATA / "enterprise" / "workbench"
DOMAIN = Path(__file__).parent / "domain.yaml"
KEYS: Mapping[str, tuple[str, ...]] = {
    "Colleague": ("email",),
    "Customer": ("customer_id",),
    "Message": ("email_id",),
    "Event": ("event_id",),
    "Task": ("task_id",),
    "Visit": ("date", "visitor_id", "number"),
}

Record = dict[str, Any]


def records(folder: Path = FOLDER) -> Iterator[Record]:
    """Colleagues first, then whatever names them, each table in its own order."""
    tables = {name: _rows(folder / f"{name}.csv") for name in _TABLES}
    addresses = {row[column] for name, (column, _) in _TABLES.items() if column for row in tables[name]}
    for address in sorted(addresses):
        name = address.partition("@")[0].replace(".", " ").title()
        yield _record("Colleague", {"email": address, "name": name}, at="2023-08-01T00:00:00Z")
    for name, (_, made) in _TABLES.items():
        yield from made(tables[name])


def deltas(folder: Path = FOLDER, size: int = 200) -> Iterator[dict[str, Any]]:
    """Upserts by natural key, in bulk."""
    yield from sample.generator().deltas(records(folder), size, keys=KEYS, order=("workbench",))


def _customers(rows: list[dict[str, str]]) -> Iterator[Record]:
    for row in rows:
        fields = {
            "customer_id": row["customer_id"],
            "name": row["customer_name"],
            "email": row["customer_email"],
            "phone": row["customer_phone"],
            "assigned_to": row["assigned_to_email"],
            "product_interest": row["product_interest"],
            "last_contact_date": row["last_contact_date"],
            "follow_up_by": row["follow_up_by"],
            "notes": row["notes"].strip(),
        }
        edge = ("assigned_customer", row["assigned_to_email"])
        yield _record("Customer", fields, at=f"{row['last_contact_date']}T00:00:00Z", state=row["status"], edge=edge)


def _mails(rows: list[dict[str, str]]) -> Iterator[Record]:
    for row in rows:
        sent = _instant(row["sent_datetime"])
        fields = {
            "email_id": row["email_id"],
            "box": row["inbox/outbox"],
            "correspondent": row["sender/recipient"],
            "subject": row["subject"],
            "sent_at": sent,
            "body": row["body"].replace("\\n", "\n"),
        }
        yield _record("Message", fields, at=sent, edge=("exchanged_with", row["sender/recipient"]))


def _events(rows: list[dict[str, str]]) -> Iterator[Record]:
    for row in rows:
        fields = {
            "event_id": row["event_id"],
            "name": row["event_name"],
            "participant": row["participant_email"],
            "starts_at": _instant(row["event_start"]),
            "minutes": int(row["duration"]),
        }
        yield _record("Event", fields, at=fields["starts_at"], edge=("meets", row["participant_email"]))


def _tasks(rows: list[dict[str, str]]) -> Iterator[Record]:
    for row in rows:
        fields = {
            "task_id": row["task_id"],
            "name": row["task_name"],
            "assigned_to": row["assigned_to_email"],
            "board": row["board"],
            "due_date": row["due_date"],
        }
        edge = ("assigned_task", row["assigned_to_email"])
        yield _record("Task", fields, at=f"{row['due_date']}T00:00:00Z", state=row["list_name"], edge=edge)


def _visits(rows: list[dict[str, str]]) -> Iterator[Record]:
    seen: Counter[tuple[str, str]] = Counter()
    for row in rows:
        visitor = (row["date_of_visit"], row["visitor_id"])
        seen[visitor] += 1
        fields = {
            "date": row["date_of_visit"],
            "visitor_id": row["visitor_id"],
            "number": seen[visitor],
            "page_views": int(row["page_views"]),
            "seconds": int(row["session_duration_seconds"]),
            "traffic_source": row["traffic_source"],
            "engaged": row["user_engaged"] == "True",
        }
        yield _record("Visit", fields, at=f"{row['date_of_visit']}T00:00:00Z")


_TABLES = {
    "customer_relationship_manager_data": ("assigned_to_email", _customers),
    "emails": ("sender/recipient", _mails),
    "calendar_events": ("participant_email", _events),
    "project_tasks": ("assigned_to_email", _tasks),
    "analytics_data": ("", _visits),
}
"""Table -> the column that names a colleague, and how its rows become records."""


def _record(
    kind: str, fields: Mapping[str, Any], *, at: str, state: str = "", edge: tuple[str, str] | None = None
) -> Record:
    made: Record = {"type": kind, "domain": "workbench", "fields": {k: v for k, v in fields.items() if v != ""}}
    if state:
        made["state"] = state
    made["edges"] = [{"edge": edge[0], "to": f"Colleague#{edge[1]}"}] if edge else []
    made["provenance"] = {"asserted_by": "service:workbench", "at": at, "source": "workbench"}
    return made


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _instant(text: str) -> str:
    return f"{text.replace(' ', 'T')}Z"
