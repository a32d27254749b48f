"""Names that only a whole workspace can resolve: an error inside one, one note a file outside (P1.8)."""

from __future__ import annotations

from collections.abc import Collection

from ukai.kit import suggest
from ukai.kit.finding import Finding
from ukai.llm.config import Models


class Naming:
    """Looks names up and gathers what nobody answers to."""

    def __init__(self, *, inside: bool) -> None:
        self.inside = inside
        self.findings: list[Finding] = []
        self._open: dict[str, list[tuple[str, str]]] = {}

    def known(self, kind: str, name: str, names: Collection[str], *, where: str) -> bool:
        """Whether `name` is among `names`; if not, that is told. `kind` in words: `field policy`."""
        if name in names:
            return True
        if self.inside:
            self.findings.append(
                Finding(
                    code=f"unknown_{kind.replace(' ', '_')}",
                    where=where,
                    message=f"no {kind} is named {name!r}",
                    expected=", ".join(sorted(names)[:20]),
                    received=name,
                    hint=suggest.hint_for(name, names),
                )
            )
        else:
            self._note(kind, name, where)
        return False

    def model(self, name: str, models: Models, *, where: str) -> bool:
        """Whether `name` stands for a model."""
        found = models.findings(name, where=where)
        if found and self.inside:
            self.findings += found
        elif found:
            self._note("model", name, where)
        return not found

    def _note(self, kind: str, name: str, where: str) -> None:
        path = where.rsplit(":", 2)[0]
        self._open.setdefault(path, []).append((where, f"{kind} {name!r}"))

    def gathered(self) -> list[Finding]:
        """Every finding: outside a workspace one note for each file, at the first of its names."""
        notes = [
            Finding(
                code="needs_workspace",
                severity="note",
                where=min(entries, key=lambda entry: _place(entry[0]))[0],
                message="only a workspace can resolve " + ", ".join(dict.fromkeys(text for _, text in entries)),
                expected="a workspace around the file",
                hint="lint the folder with ukai.yaml; `ukai init` makes one",
            )
            for entries in self._open.values()
        ]
        return [*self.findings, *notes]


def _place(where: str) -> tuple[int, int]:
    _, line, column = where.rsplit(":", 2)
    return int(line), int(column)
