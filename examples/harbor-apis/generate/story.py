"""Hand-written blocks of `texts/` as records: the planted stories, the product's history, the handbook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from . import canary as canaries
from . import cast, texts
from .records import Record, named, record

EMPLOYEES = ("group:employees",)
PAUSE = timedelta(seconds=40)
"""Between two turns of a call."""


def call(
    made: cast.Account,
    filed: str,
    with_keys: Sequence[str],
    title: str,
    start: datetime,
    said: Sequence[tuple[str, str]],
) -> Record:
    """A call filed under the account or under a person; only the former has an edge to the account."""
    turns = [{"who": who, "at": _stamp(start + i * PAUSE), "text": text} for i, (who, text) in enumerate(said)]
    about = filed == made.key
    return record(
        "Call",
        {
            "id": f"{filed}-{start.date()}",
            "account": made.key if about else None,
            "filed_under": filed,
            "title": title,
            "at": _stamp(start),
            "turns": turns,
        },
        edges=[("about_account", named("Account", made.key))] * about
        + [("with_person", named("Person", key)) for key in with_keys],
        by=made.owner,
        at=_stamp(start),
        source="calls",
    )


def mail(
    made: cast.Account, sender: str, to: Sequence[str], subject: str, body: str, at: datetime, people: Sequence[str]
) -> Record:
    """A mail about an account."""
    return record(
        "Mail",
        {
            "id": f"{made.key}-{at.date()}",
            "account": made.key,
            "at": _stamp(at),
            "sender": sender,
            "recipients": list(to),
            "subject": subject,
            "body": body,
        },
        edges=[("about_account", named("Account", made.key))] + [("with_person", named("Person", p)) for p in people],
        by=sender,
        at=_stamp(at),
        source="mail",
    )


def ticket(
    made: cast.Account,
    number: str,
    opened: datetime,
    by: cast.Contact,
    said: dict[str, Any],
    comments: Sequence[tuple[str, str, str]],
) -> Record:
    """A ticket; `said` holds subject, body, priority, product and state, a comment is (who, at, text)."""
    done = said["state"] in ("solved", "closed")
    parts = [{"who": who, "at": at, "text": text} for who, at, text in comments]
    return record(
        "Ticket",
        {
            "number": number,
            "account": made.key,
            "subject": said["subject"],
            "body": said["body"],
            "priority": said["priority"],
            "product": said["product"],
            "opened_at": _stamp(opened),
            "solved_at": (parts[-1]["at"] if parts else _stamp(opened)) if done else None,
            "comments": parts,
        },
        state=said["state"],
        edges=[("ticket_of", named("Account", made.key)), ("raised_by", named("Person", by.key))],
        by=by.name,
        at=_stamp(opened),
        source="helpdesk",
    )


def note(
    made: cast.Account,
    filed: str,
    title: str,
    body: str,
    author: str,
    at: datetime,
    *,
    readers: Sequence[str] = EMPLOYEES,
    on: str = "",
    corrects: str = "",
    tail: str = "",
) -> Record:
    """A note about the account, or on a person (`on`), who then owns it."""
    edges = [("with_person", named("Person", on))] if on else [("about_account", named("Account", made.key))]
    if corrects:
        edges.append(("corrects", named("Note", corrects)))
    return record(
        "Note",
        {
            "id": f"{filed}-{at.date()}{tail}",
            "account": None if on else made.key,
            "filed_under": filed,
            "title": title,
            "body": body,
            "author": author,
            "at": _stamp(at),
            "readers": list(readers),
        },
        edges=edges,
        by=author,
        at=_stamp(at),
        source="notes",
    )


class Told:
    """The stories of one account as records."""

    def __init__(self, made: cast.Account, people: Sequence[cast.Contact], canary: str | None) -> None:
        self.made, self.canary = made, canary
        tail = f"-{made.word}" if made.word else ""
        self.people = {p.key.removesuffix(tail): p for p in people}
        self.keys = {made.original: made.key, **{short: p.key for short, p in self.people.items()}}

    def records(self) -> Iterator[Record]:
        """In the order of the file."""
        for block in texts.stories():
            if self._is_ours(block):
                yield getattr(self, f"_{block.kind}")(block)

    def terms(self) -> texts.Block | None:
        """What the deal desk wrote by hand, if anything."""
        return next((b for b in texts.stories() if b.kind == "terms" and b.id == self.made.original), None)

    def _is_ours(self, block: texts.Block) -> bool:
        if block.kind == "terms":
            return False
        key = block.said["account"] if block.kind == "ticket" else block.id[:-11]
        return key in self.keys

    def _with(self, block: texts.Block) -> list[cast.Contact]:
        return [self.people[key] for key in block.said.get("with", "").split(";") if key]

    def _call(self, block: texts.Block) -> Record:
        said = [tuple(line.split(": ", 1)) for line in block.body.split("\n")]
        start = datetime.fromisoformat(f"{block.id[-10:]}T{block.said['time']}")
        keys = [p.key for p in self._with(block)]
        return call(self.made, self.keys[block.said["filed"]], keys, block.said["title"], start, said)

    def _mail(self, block: texts.Block) -> Record:
        at = datetime.fromisoformat(f"{block.id[-10:]}T09:24")
        names = (block.said["from"], block.said["to"])
        people = [p.key for p in self.people.values() if p.name.removesuffix(f" {self.made.word}") in names]
        return mail(self.made, names[0], [names[1]], block.said["subject"], block.body, at, people)

    def _ticket(self, block: texts.Block) -> Record:
        body, *rest = block.body.split("\n\n-- ")
        comments: list[tuple[str, str, str]] = []
        for line in "\n-- ".join(rest).split("\n-- ") if rest else []:
            head, text = line.split(": ", 1)
            who, _, day = head.rpartition(" ")
            comments.append((who, f"{day}T{10 + len(comments)}:15:00Z", text.strip()))
        opened = datetime.fromisoformat(f"{block.said['opened']}T08:05")
        return ticket(
            self.made, block.id, opened, self.people[block.said["by"]], {**block.said, "body": body}, comments
        )

    def _note(self, block: texts.Block) -> Record:
        said = block.said
        readers = said["readers"].split(";") if "readers" in said else EMPLOYEES
        word = ""
        if self.canary and readers != EMPLOYEES:
            word = canaries.token(self.canary, readers[0].removeprefix("group:").removeprefix("deal-"))
        corrects = said.get("corrects", "")
        made = note(
            self.made,
            self.keys[said["filed"]],
            said["title"],
            block.body,
            cast.mail(said["author"]),
            datetime.fromisoformat(f"{block.id[-10:]}T17:10"),
            readers=readers,
            on=self.keys[said["on"]] if "on" in said else "",
            corrects=f"{self.keys[corrects[:-11]]}{corrects[-11:]}" if corrects else "",
            tail=f"-{word}" if word else "",
        )
        return canaries.marked(made, word) if word else made


def lessons(canary: str | None) -> Iterator[Record]:
    """What closed deals taught, without names."""
    word = canaries.token(canary, "internal") if canary else ""
    for i, (outcome, kind, summary, factor) in enumerate(texts.deals(), 1):
        fields = {
            "id": f"lesson-{i:02}{'-' * bool(word)}{word}",
            "kind": kind,
            "outcome": outcome,
            "summary": summary,
            "deciding_factor": factor,
        }
        made = record("DealLesson", fields, by=cast.mail("mira"), at="2026-10-01T09:00:00Z", source="crm")
        yield canaries.marked(made, word) if word else made


def product() -> Iterator[Record]:
    """Releases and incidents."""
    for block in texts.product():
        if block.kind == "release":
            fields = {"version": block.id, "date": block.said["date"], "notes": block.body}
            yield record("Release", fields, by=cast.mail("hana"), at=f"{fields['date']}T08:00:00Z", source="product")
        else:
            started = f"{block.said['started']}:00Z"
            fields = {
                "key": block.id,
                "title": block.said["title"],
                "started_at": started,
                "minutes": int(block.said["minutes"]),
                "summary": block.body,
            }
            yield record("Incident", fields, by=cast.mail("sol"), at=started, source="product")


def handbook(canary: str | None) -> Iterator[Record]:
    """The pages. `audience` is public, employees, or groups that are named."""
    for page in texts.handbook():
        audience = page.said["audience"].split(" ")
        readers = ["public"] if audience == ["public"] else [f"group:{name}" for name in audience]
        fields = {
            "slug": page.id,
            "section": page.said["section"],
            "title": page.said["title"],
            "body": page.body,
            "audience": audience[0] if audience[0] in ("public", "employees") else "restricted",
            "updated": page.said["updated"],
            "readers": readers,
        }
        word = ""
        if canary and fields["audience"] != "public":
            word = canaries.token(canary, _page_label(audience))
            fields["slug"] = f"{page.id}-{word}"
        made = record(
            "Page", fields, by=cast.mail(page.said["owner"]), at=f"{page.said['updated']}T12:00:00Z", source="handbook"
        )
        yield canaries.marked(made, word) if word else made


def _page_label(audience: Sequence[str]) -> str:
    if list(audience) == ["employees"]:
        return "internal"
    if "security" in audience:
        return "security"
    return "desk" if "deal-desk" in audience else "management"


def _stamp(at: datetime) -> str:
    return f"{at.isoformat(timespec='seconds')}Z"
