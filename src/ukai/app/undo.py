"""`ukai undo`: take back a commit, a run, or what somebody wrote in a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ukai import gate
from ukai.app import desk as desks
from ukai.app import history, propose
from ukai.gate import undo as undoing
from ukai.kit import principal
from ukai.kit.errors import PermanentError


class NotNamed(PermanentError):
    """What is to be taken back is named in no way that can be read."""


@dataclass(frozen=True, kw_only=True)
class Undone:
    """What came of it."""

    answer: gate.Committed | gate.Rejected

    @property
    def is_refused(self) -> bool:
        """Nothing was taken back."""
        return isinstance(self.answer, gate.Rejected)

    @property
    def outcome(self) -> propose.Outcome:
        """The same as of any other proposal, for doors that show those."""
        return propose.Outcome(answer=self.answer)

    def as_json(self) -> dict[str, Any]:
        """As `propose` answers: committed, valid with `would_change`, or rejected with findings."""
        return self.outcome.as_json()

    def text(self) -> str:
        """For a person at a terminal."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if isinstance(self.answer, gate.Rejected):
            yield self.outcome.text()
        elif self.answer.dry_run:
            yield "would be undone (dry run, nothing was written):"
            for change in self.answer.would_change:
                yield f"  {_WOULD[change['op']]} {change['handle']}"
                before: dict[str, Any] = change["before"] or {}
                after: dict[str, Any] = change["after"] or {}
                if change["op"] == "update":
                    yield from (
                        f"    {n}: {history.shown(before.get(n))} -> {history.shown(after.get(n))}"
                        for n in change["fields"]
                    )
        else:
            yield f"undone by the commit {self.answer.commit}"
            yield from (f"  {node.handle}  version {node.version}" for node in self.answer.nodes.values())
            yield f"to have it back: ukai undo {self.answer.commit}"


_WOULD = {"create": "bring back", "delete": "delete", "update": "change"}


async def undo(
    desk: desks.Desk,
    commit: str | None = None,
    *,
    run: str | None = None,
    author: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    dry_run: bool = False,
) -> Undone:
    """Take back one of: a commit, what a run committed, what an author committed from `since` (and before `until`).

    As whoever stands at the desk, with their rights and in their name. Raises NotNamed.
    """
    what = _what(commit, run, author, since, until or desk.clock.now())
    answer = await undoing.undo(
        desk.db, what, author=desk.standing.author, rights=desk.rights, clock=desk.clock, dry_run=dry_run
    )
    return Undone(answer=answer)


def _what(
    commit: str | None, run: str | None, author: str | None, since: datetime | None, until: datetime
) -> UUID | undoing.Run | undoing.Span:
    if [commit, run, author].count(None) != 2:
        raise NotNamed("one of a commit, a run and an author is taken back", hint="name exactly one of them")
    if run is not None:
        return undoing.Run(id=run)
    if author is not None:
        if since is None:
            raise NotNamed(f"since when is what {author} wrote to be taken back?", hint="say since when")
        return undoing.Span(author=principal.canonical(author) or author, since=since, until=until)
    try:
        return UUID(commit)
    except ValueError:
        raise NotNamed(f"{commit!r} is no id of a commit", hint="`ukai history` and `ukai propose` tell it") from None
