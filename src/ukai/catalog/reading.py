"""Folders and files into a shelf of parsed parts: each room parses its own, this module only reads and gathers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar, cast

from ukai.access import folder as access
from ukai.catalog import composing, dialect, kinds, settings, skill, source, walk
from ukai.catalog.shelf import Piece, Shelf
from ukai.kit import document, suggest
from ukai.kit.document import Document
from ukai.kit.finding import Finding, errors
from ukai.llm import config
from ukai.runtime import agent, guardrail
from ukai.study import report

T = TypeVar("T")
ACCESS = "access/"
_YAML_KINDS = ("domain", "workflow", "connector", "case", "templates")


def shelf(root: Path, *, only: str | None = None) -> tuple[Shelf, list[Finding], int]:
    """Everything under `root`, all findings of reading it, and how many files were read.

    A folder with `ukai.yaml` is a workspace: files count by their place. Any other tree is searched for files that
    look like ours. `only` names the one agent whose folder is looked into (P2.1).
    """
    inside = (root / kinds.MARKER).is_file()
    loader = _Loader(root, inside=inside, only=only)
    loader.load()
    return loader.shelf, loader.findings, loader.count


class _Loader:
    def __init__(self, root: Path, *, inside: bool, only: str | None) -> None:
        self.root, self.only = root, only
        self.shelf = Shelf(inside=inside)
        self.findings: list[Finding] = []
        self.count = 0
        self.access: dict[str, Document | None] = {}
        self.domain_texts: dict[str, str] = {}

    def load(self) -> None:
        tree = walk.walk(self.root, enter=self.enters)
        self.findings += tree.findings
        self.folders(tree)
        for file in tree.files:
            self.file(file)
        doc = self.shelf.settings_doc
        if doc is not None and ("models", "") not in self.shelf.broken:
            self.findings += composing.unknown(self.shelf.settings.context, self.shelf.models, doc)
        self.read_domains()
        self.read_access()

    def enters(self, path: str) -> bool:
        if not self.shelf.inside:
            return True
        first, _, rest = path.partition("/")
        if first not in kinds.TOP:
            return False
        outside = first == "agents" and rest and self.only and rest.partition("/")[0] != self.only
        if outside and "/" not in rest:
            self.name("agent", rest)  # another agent: its name may be named, its files stay unread
        return not outside

    def folders(self, tree: walk.Tree) -> None:
        """What folders alone tell: a folder in place of a file, and an agent without its manifest."""
        files = {f.path for f in tree.files}
        for path in tree.folders:
            parts = path.split("/")
            if parts[-1] in ("SKILL.md", "FAMILY.md", "GUARDRAIL.md", "tools.py"):
                self.refuse("not_a_file", path, f"{parts[-1]} is a folder", "a file", "remove the folder")
            manifest = {"agents": "SKILL.md", "families": "FAMILY.md"}.get(parts[0]) if len(parts) == 2 else None
            if self.shelf.inside and manifest:
                self.name("agent" if parts[0] == "agents" else "family", parts[1])
                if f"{path}/{manifest}" not in files and f"{path}/{manifest}" not in tree.folders:
                    self.missing(path, manifest, files)

    def missing(self, path: str, manifest: str, files: set[str]) -> None:
        near = next((f for f in files if f.casefold() == f"{path}/{manifest}".casefold()), None)
        self.refuse(
            "manifest_missing",
            path,
            f"the folder has no {manifest}",
            manifest,
            f"rename {near.rpartition('/')[2]} to {manifest}" if near else f"add {manifest}, or remove the folder",
        )
        self.shelf.broken.add(("agent" if path.startswith("agents") else "family", path.rpartition("/")[2]))

    def refuse(self, code: str, path: str, message: str, expected: str, hint: str, *, severity: Any = "error") -> None:
        self.findings.append(
            Finding(code=code, severity=severity, where=f"{path}:1:1", message=message, expected=expected, hint=hint)
        )

    def name(self, kind: str, name: str) -> None:
        self.shelf.names.setdefault(kind, set()).add(name)

    def file(self, file: walk.File) -> None:
        place = kinds.in_workspace(file.path) if self.shelf.inside else kinds.anywhere(file.path, self.root.name)
        if place is None and self.shelf.inside:
            self.stray(file.path)
            return
        if place is None and not file.path.endswith(".md"):
            return
        raw, found = walk.read(file)
        if place is None and (raw is None or not raw.removeprefix(b"\xef\xbb\xbf").startswith(b"---")):
            return
        if place is not None and place.name.casefold() == "readme" and raw is not None and not _opens(raw):
            return
        if raw is None:
            self.count += 1
            self.findings += found
            self.break_off(place)
            return
        self.parse(file.path, raw, place)

    def parse(self, path: str, raw: bytes, place: kinds.Place | None) -> None:
        if place is None or path.endswith(".md"):
            self.markdown(path, raw, place)
            return
        self.count += 1
        if place.kind in ("own_tools", "shared_tools"):
            declared, found = source.read(raw, name=path)
            self.findings += found
            if place.kind == "own_tools":
                self.shelf.own_tools[place.owner] = (path, declared)
            else:
                self.shelf.shared_tools[path] = declared
            if errors(found):
                self.break_off(place)
        elif place.kind == "template":
            text, found = document.decode(raw, name=path)
            self.findings += found
            if text is not None:
                self.shelf.templates[f"{place.owner}/{place.name}"] = text
        else:
            self.yaml(path, raw, place)

    def yaml(self, path: str, raw: bytes, place: kinds.Place) -> None:
        doc, found = document.read(raw, name=path)
        self.findings += found
        if place.kind == "access":
            self.access[path.removeprefix(ACCESS)] = doc
        elif doc is None:
            self.break_off(place)
        elif place.kind == "settings":
            value, found = settings.read(doc)
            self.findings += found
            self.shelf.settings, self.shelf.settings_doc = value or self.shelf.settings, doc
            if value is None:
                self.break_off(place)
        elif place.kind == "models":
            value, found = config.read(doc)
            self.findings += found
            self.shelf.models = value or self.shelf.models
            if value is None:
                self.break_off(place)
        elif place.kind in _YAML_KINDS:
            self.shelf.documents[path] = doc
            if place.kind == "domain":
                self.domain_texts[path] = raw.decode("utf-8-sig")

    def markdown(self, path: str, raw: bytes, place: kinds.Place | None) -> None:
        if place is not None and place.kind == "skill" and not _opens(raw):
            self.count += 1
            self.bare_skill(path, raw, place)
            return
        doc, found = document.read_front_matter(raw, name=path)
        data: dict[str, Any] = cast("dict[str, Any]", doc.data) if doc else {}
        place = kinds.by_keys(data, path, place)
        if place is None:
            return
        self.count += 1
        self.findings += found
        if doc is None:
            self.break_off(place)
            return
        normal, found = (doc, list[Finding]()) if place.kind == "skill" else dialect.native(doc)
        self.findings += found
        if errors(found):
            self.break_off(place)
            return
        self.value(path, normal, place)

    def bare_skill(self, path: str, raw: bytes, place: kinds.Place) -> None:
        text, found = document.decode(raw, name=path)
        self.findings += found
        if text is None:
            self.break_off(place)
            return
        self.findings.append(
            Finding(
                code="front_matter_missing",
                severity="warning",
                where=f"{path}:1:1",
                message="the skill has no front matter",
                expected="a first line of ---",
                hint="begin the file with ---, name, description, ---",
            )
        )
        self.value(path, Document(name=path, data={}, body=text), place)

    def value(self, path: str, doc: Document, place: kinds.Place) -> None:
        if place.kind in ("agent", "family"):
            shelf = self.shelf.agents if place.kind == "agent" else self.shelf.families
            self.put(shelf, place, path, doc, agent.parse(doc))
        elif place.kind == "guardrail":
            self.put(self.shelf.guardrails, place, path, doc, guardrail.parse(doc), field="id")
        elif place.kind == "report":
            piece = self.piece(place, path, doc, report.parse(doc))
            if piece is not None:
                self.shelf.reports[place.owner, piece.value.name] = piece
        elif place.kind == "skill":
            piece = self.piece(place, path, doc, skill.read(doc, folder=place.name), field="")
            if piece is not None:
                owner = place.owner or path  # standing alone, two of one name are no clash
                self.name(f"skill:{owner}", place.name)
                self.shelf.skills[owner, place.name] = piece

    def piece(
        self, place: kinds.Place, path: str, doc: Document, parsed: tuple[T | None, list[Finding]], field: str = "name"
    ) -> Piece[T] | None:
        value, found = parsed
        self.findings += found
        written = getattr(value, field) if value is not None and field else None
        if written is not None and place.name and written != place.name:
            self.findings.append(_mismatch(place, doc, field, written))
        if value is None:
            self.break_off(place)
            return None
        return Piece(path=path, doc=doc, value=value)

    def put(
        self,
        shelf: dict[str, Piece[T]],
        place: kinds.Place,
        path: str,
        doc: Document,
        parsed: tuple[T | None, list[Finding]],
        field: str = "name",
    ) -> None:
        piece = self.piece(place, path, doc, parsed, field)
        if piece is None:
            return
        name = place.name or str(getattr(piece.value, field))
        self.name(place.kind, name)
        if name in shelf:
            self.findings.append(
                Finding(
                    code="duplicate_name",
                    where=doc.where(f"/{field}"),
                    message=f"a second {place.kind} is named {name!r}",
                    received=name,
                    hint=f"rename one; the first is {shelf[name].path}",
                )
            )
            return
        shelf[name] = piece

    def break_off(self, place: kinds.Place | None) -> None:
        """Something is there under this name and cannot be used."""
        if place is None:
            return
        kind, name = place.kind, place.name or place.owner
        if kind == "skill":
            self.name(f"skill:{place.owner}", name)
        self.name(kind, name)
        self.shelf.broken.add((kind, name if kind != "report" else f"{place.owner}/{name}"))

    def read_domains(self) -> None:
        if not self.domain_texts:
            return
        from ukai.catalog import domains  # what reads rules takes a tenth of a second to import

        documents = {path: self.shelf.documents[path] for path in self.domain_texts}
        self.shelf.domains, found = domains.read(documents, self.domain_texts)
        self.findings += found
        complete = len(self.shelf.domains) == len(documents) and not any(k == "domain" for k, _ in self.shelf.broken)
        if complete:  # otherwise a name that is missing may be the broken file's
            self.shelf.types = domains.fields(self.shelf.domains)
            self.findings += domains.indexes(self.shelf.settings, self.shelf.settings_doc, self.shelf.types)

    def read_access(self) -> None:
        """IT's folder, read as one. Without a workspace there is none, and nothing is known to be missing."""
        known = {n: d for n, d in self.access.items() if n in access.FILES or n.startswith(access.FIELD_POLICIES)}
        for name in self.access.keys() - known.keys():
            path, expected = f"{ACCESS}{name}", (*access.FILES, f"{access.FIELD_POLICIES}NAME.yaml")
            self.refuse(
                "unknown_file", path, "nothing reads this file", ", ".join(expected), suggest.hint_for(name, expected)
            )
        agents = self.shelf.known("agent") if self.shelf.inside else None
        self.shelf.access, found = access.read(known, types=self.shelf.types, agents=agents)
        self.findings += found
        for name, doc in known.items():
            if name.startswith(access.FIELD_POLICIES):
                self.name("field_policy", name.removeprefix(access.FIELD_POLICIES).removesuffix(".yaml"))
            if doc is not None:
                self.shelf.documents[ACCESS + name] = doc

    def stray(self, path: str) -> None:
        """A file of a workspace at a place that nothing reads, when it was probably meant to be read."""
        folder, _, name = path.rpartition("/")
        stem, dot, ending = name.rpartition(".")
        better = {"yml": "yaml", "YAML": "yaml", "YML": "yaml", "json": "yaml", "MD": "md", "markdown": "md"}.get(
            ending
        )
        near = [f"{folder}/{stem}.{better}".lstrip("/")] if dot and better else []
        near += [f"{folder}/{n}".lstrip("/") for n in ("SKILL.md", "FAMILY.md") if n.casefold() == name.casefold()]
        meant = next((p for p in near if kinds.in_workspace(p)), None)
        if meant:
            self.refuse(
                "file_not_read",
                path,
                "nothing reads a file of this name",
                meant,
                f"rename it to {meant.rpartition('/')[2]}",
                severity="warning",
            )


def _opens(raw: bytes) -> bool:
    """Whether a front matter begins here, in whatever encoding."""
    return raw[:2] in (b"\xff\xfe", b"\xfe\xff") or raw.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")[:3] == b"---"


def _mismatch(place: kinds.Place, doc: Document, field: str, written: str) -> Finding:
    what = "folder" if place.kind in ("agent", "family") else "file"
    return Finding(
        code="name_mismatch",
        where=doc.where(f"/{field}"),
        message=f"the {place.kind} calls itself {written!r}, its {what} is named {place.name!r}",
        expected=place.name,
        received=written,
        hint=f"write `{field}: {place.name}`, or rename the {what}",
    )
