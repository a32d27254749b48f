"""`ukai schema`: domains as files and as the store has them: check, upload, list, show, import from JSON Schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ukai.app import desk as desks
from ukai.app import loading, propose, workspace, yaml_text
from ukai.catalog.value import ordered
from ukai.gate import describe, domains, impact
from ukai.graph import domain_file, json_import, schema
from ukai.kit import document, strict_json, suggest
from ukai.kit.errors import PermanentError
from ukai.kit.finding import Finding, errors

if TYPE_CHECKING:
    from ukai.context.render import templates

FOLDER = "domains"


class NoDomains(PermanentError):
    """No file was named, and the workspace has none."""

    hint = "name files, or write one under domains/"


class Unknown(PermanentError):
    """A domain, a version or a type that is not there."""


@dataclass(frozen=True, kw_only=True)
class Read:
    """Domain files, read together."""

    domains: tuple[schema.Domain, ...]
    findings: tuple[Finding, ...]
    files: int


@dataclass(frozen=True, kw_only=True)
class Uploaded:
    """What became current."""

    domains: tuple[domains.Uploaded, ...]
    """One by one; empty when any file has an error."""
    findings: tuple[Finding, ...]
    """Of the files, and of what was uploaded."""

    @property
    def failed(self) -> bool:
        """Whether anything is an error."""
        return bool(errors(self.findings))

    def as_json(self) -> dict[str, Any]:
        """`{"uploaded": [{"domain", "version", "changed"}], "findings": [..]}`."""
        rows = [
            {"domain": u.domain.domain, "version": u.domain.version, "changed": u.changed}
            for u in self.domains
            if u.domain is not None
        ]
        return {"uploaded": rows, "findings": [f.as_json() for f in self.findings]}


def check(path: Path, files: Sequence[Path]) -> Read:
    """Every problem of the files named, or of the workspace's domains, with line and column. Needs no database.

    Raises NoDomains, Unreadable.
    """
    around = _workspace_files(path)
    chosen = list(files) or around
    if not chosen:
        raise NoDomains(f"there is no file in {FOLDER}/ here")
    return _read(chosen, around, known=() if around or len(chosen) > 1 else None)


async def upload(path: Path, files: Sequence[Path], *, named: str | None) -> Uploaded:
    """Make the domains current, one after the other. With an error in any file nothing is uploaded.

    Raises NoDomains, NoRight.
    """
    around = _workspace_files(path)
    chosen = list(files) or around
    if not chosen:
        raise NoDomains(f"there is no file in {FOLDER}/ here")
    async with desks.opened(path, named=named, max_size=2) as desk:
        desk.standing.need("upload", "upload a schema")
        found = _read(chosen, around, known=(await domains.known(desk.db, fresh=True)).types())
        if errors(found.findings):
            return Uploaded(domains=(), findings=found.findings)
        done = [
            await domains.upload(desk.db, domain, author=desk.standing.author, at=desk.clock.now())
            for domain in found.domains
        ]
    return Uploaded(domains=tuple(done), findings=(*found.findings, *(f for u in done for f in u.findings)))


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What an upload would come to."""

    impacts: tuple[impact.Impact, ...]
    """Of the domains that would become a new version."""
    unchanged: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def failed(self) -> bool:
        """Whether anything is an error: then nothing would be uploaded."""
        return bool(errors(self.findings))

    def as_json(self) -> dict[str, Any]:
        """`{"dry_run": true, "impacts": [..], "unchanged": [..], "findings": [..]}`."""
        return {
            "dry_run": True,
            "impacts": [i.as_json() for i in self.impacts],
            "unchanged": list(self.unchanged),
            "findings": [f.as_json() for f in self.findings],
        }

    def lines(self) -> Iterator[str]:
        """For a person."""
        yield from map(str, self.findings)
        yield from (line for i in self.impacts for line in i.lines())
        yield from (f"{name}: nothing changes" for name in self.unchanged)


async def tried(
    path: Path, files: Sequence[Path], *, named: str | None, progress: impact.Progress = lambda _: None
) -> Tried:
    """What an upload of the same would say to the records that stand; nothing is written. Raises NoDomains, NoRight."""
    around = _workspace_files(path)
    chosen = list(files) or around
    if not chosen:
        raise NoDomains(f"there is no file in {FOLDER}/ here")
    async with desks.opened(path, named=named, max_size=2) as desk:
        desk.standing.need("upload", "try an upload")
        found = _read(chosen, around, known=(await domains.known(desk.db, fresh=True)).types())
        said = [await domains.tried(desk.db, domain) for domain in found.domains]
        impacts = [
            await impact.of(desk.db, domain, rights=desk.rights, progress=progress)
            for domain, one in zip(found.domains, said, strict=True)
            if one.changed
        ]
    unchanged = tuple(one.domain.domain for one in said if one.domain is not None and not one.changed)
    return Tried(
        impacts=tuple(impacts),
        unchanged=unchanged,
        findings=(*found.findings, *(f for one in said for f in one.findings)),
    )


async def listed(path: Path, *, named: str | None) -> list[dict[str, Any]]:
    """The store's domains, and those of the files that were never uploaded; `files` says how the two compare."""
    async with desks.opened(path, named=named, max_size=2) as desk:
        stored = (await domains.known(desk.db, fresh=True)).domains
    found: list[dict[str, Any]] = []
    for name in sorted({*stored, *desk.domains}):
        one, file = stored.get(name), desk.domains.get(name)
        shown = one or cast("schema.Domain", file)
        state = "absent" if file is None else "same" if one and one.fingerprint == file.fingerprint else "differ"
        row = {"domain": name, "version": one.version if one else None, "types": [t.type for t in shown.types]}
        found.append(row | {"edges": [e.edge for e in shown.edges], "files": state})
    return found


async def show(path: Path, name: str, *, version: int | None, named: str | None) -> dict[str, Any]:
    """A domain, or one type of one, in the language of its file, with its version and what `templates` are for it.

    Raises Unknown.
    """
    async with desks.opened(path, named=named, max_size=2) as desk:
        known = (await domains.known(desk.db, fresh=True)).domains
        homes = {n: n for n in known} | {t: n for n, d in known.items() for t in d.by_type if t not in known}
        if name not in homes:
            raise Unknown(f"no domain or type is named {name!r}", hint=suggest.hint_for(name, homes))
        domain = known[homes[name]]
        if version is not None and version != domain.version:
            if not 0 < version < domain.version:
                raise Unknown(f"{name!r} has no version {version}", hint=f"it has 1 to {domain.version}")
            async with desk.db.transaction() as tx:
                domain = await domains.version(tx, domain.domain, version)
    if name not in known:
        if name not in domain.by_type:
            raise Unknown(f"version {version} of {domain.domain!r} has no type {name!r}")
        domain = replace(domain, types=(domain.by_type[name],), edges=())
    made = _templates(domain, loading.shelf(loading.whole(desk.root).catalog))
    return {**domain_file.as_data(domain), "version": domain.version, "templates": made}


def _templates(domain: schema.Domain, shelf: templates.Shelf) -> list[dict[str, Any]]:
    """Per type `{"key", "file", "mode"}`; a mode of None: there is no template."""
    from ukai.context.render import templates

    keys = [f"{t.type}/{t.content_hash}" for t in domain.types]
    return [{"key": k, "file": templates.file(k), "mode": shelf.mode(k)} for k in keys]


async def type_(desk: desks.Desk, name: str) -> dict[str, Any] | None:
    """A type as whoever stands at the desk may read and write it. None: there is none, or none for them."""
    catalogue = await domains.known(desk.db, fresh=True)
    found = describe.of(catalogue, name, desk.rights)
    return None if found is None else found.as_json()


async def type_names(desk: desks.Desk) -> list[str]:
    """The types of which whoever stands at the desk may read or write something."""
    return describe.names(await domains.known(desk.db), desk.rights)


def imported(file: Path, *, type: str, domain: str, key: Sequence[str]) -> tuple[dict[str, Any] | None, list[Finding]]:
    """A JSON Schema as a domain of one type, in the language of domain files. Raises Unreadable."""
    raw = propose.read_file(file, most=propose.ENOUGH)
    data, findings = strict_json.loads(raw)
    if findings:
        return None, [replace(f, where=f"{file.name}:{f.where or '/'}") for f in findings]
    made, found = json_import.to_type(_floating(data), name=type, key=tuple(key))
    told = [replace(f, where=f"{file.name}:{f.where or '/'}") for f in found]
    if made is None:
        return None, told
    written = domain_file.as_data(schema.Domain(domain=domain, types=(made.type,)))
    doc, more = document.read(as_yaml(written).encode(), name=f"{domain}.yaml")
    read, again = domain_file.from_document(doc, others=None) if doc is not None else (None, [])
    return (written if read is not None else None), [*told, *more, *again]


def as_yaml(data: dict[str, Any]) -> str:
    """A domain as a file."""
    return yaml_text.dumps(data)


def _floating(value: Any) -> Any:
    """Numbers as a schema's author means them: what is no whole number is a float, in YAML and JSON alike."""
    if isinstance(value, dict):
        return {k: _floating(v) for k, v in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_floating(v) for v in cast("list[Any]", value)]
    return float(value) if isinstance(value, Decimal) else value


def _workspace_files(path: Path) -> list[Path]:
    try:
        folder = workspace.locate(path) / FOLDER
    except workspace.NoWorkspace:
        return []
    return sorted(p for p in folder.glob("*.yaml") if p.is_file()) if folder.is_dir() else []


def _read(chosen: Sequence[Path], around: Sequence[Path], *, known: Iterable[str] | None) -> Read:
    """`known`: types of elsewhere; None means that nobody knows what else there is."""
    raw = {p: propose.read_file(p, most=propose.ENOUGH) for p in chosen}
    beside = {p: p.read_bytes() for p in around if p.resolve() not in {c.resolve() for c in chosen}}
    types = {p: frozenset(_types(text)) for p, text in {**raw, **beside}.items()}
    found: list[schema.Domain] = []
    findings: list[Finding] = []
    for path, text in raw.items():
        others = None
        if known is not None:
            others = frozenset(known).union(*(t for p, t in types.items() if p != path))
        domain, more = domain_file.read(text, name=_shown(path), others=others)
        findings += more
        found += [domain] if domain else []
    return Read(domains=tuple(found), findings=ordered(findings), files=len(raw))


def _types(raw: bytes) -> Iterator[str]:
    """The types that a file declares, right or wrong in the rest."""
    doc, _ = document.read(raw, name="")
    data: Any = doc.data if doc else None
    if not isinstance(data, dict):
        return
    members = cast("dict[str, Any]", data)
    entries: Any = members.get("types", [members])
    for entry in cast("list[Any]", entries) if isinstance(entries, list) else []:
        name: Any = cast("dict[str, Any]", entry).get("type") if isinstance(entry, dict) else None
        if isinstance(name, str):
            yield name


def _shown(path: Path) -> str:
    """As a person would name it from where they stand."""
    here = Path.cwd()
    resolved = path.resolve()
    return resolved.relative_to(here).as_posix() if resolved.is_relative_to(here) else str(path)
