"""`policies.yaml`: who may do what. What no policy allows is denied; deny wins; order does not matter."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from ukai.access import condition, mend
from ukai.access.groups import Groups
from ukai.access.record import ALL, NONE, Fields
from ukai.kit import document, glob, shape, suggest
from ukai.kit.finding import Finding

Right = Literal["invoke", "read", "write", "send", "impersonate", "audit", "upload", "promote", "approximate"]
RIGHTS: tuple[str, ...] = get_args(Right)

CHANNELS = ("cli", "web", "rest", "mcp", "slack", "openai", "a2a", "schedule", "workflow")
"""Surfaces (P4.4), and the two ways in which an agent starts by itself."""
OUTPUTS = ("slack", "email", "confluence", "notion", "webhook", "file")
"""Destinations (P1.6)."""

KEYS: dict[str, tuple[str, ...]] = {
    "invoke": ("agents", "channels"),
    "read": ("records", "where", "and_owned", "fields", "agents"),
    "write": ("records", "where", "and_owned", "fields", "transitions", "agents"),
    "tell": ("records", "where", "agents"),
    "send": ("outputs", "agents"),
    "impersonate": (),
    "audit": (),
    "upload": (),
    "promote": (),
    "approximate": (),
}
"""Right -> the keys that say of what; the first of each is required."""


@dataclass(frozen=True, kw_only=True)
class _Records:
    __pydantic_config__ = shape.STRICT
    types: tuple[str, ...] | None = None
    paths: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class _Entry:
    __pydantic_config__ = shape.STRICT
    id: str
    to: tuple[str, ...]
    allow: Right | None = None
    deny: Right | None = None
    tell: tuple[str, ...] | None = None
    agents: tuple[str, ...] | None = None
    channels: tuple[str, ...] | None = None
    records: _Records | None = None
    where: dict[str, Any] | None = None
    and_owned: bool | None = None
    fields: tuple[str, ...] | None = None
    transitions: tuple[str, ...] | None = None
    outputs: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Policy:
    """One entry that can be read, or a denial that stands for one that cannot."""

    id: str
    place: str
    """`file:line:column`."""
    denies: bool
    right: str
    """One of `RIGHTS`, or `tell`."""
    to: frozenset[str]
    to_everyone: bool = False
    """Whoever the caller is, and however little is known of them."""
    agents: tuple[glob.Glob, ...] | None = None
    """None in this and what follows: any."""
    channels: frozenset[str] | None = None
    types: frozenset[str] | None = None
    paths: tuple[glob.Glob, ...] | None = None
    where: tuple[condition.Condition, ...] = ()
    and_owned: bool = False
    fields: Fields = ALL
    """Read and write: the fields granted or denied. Tell: the fields a refusal may disclose."""
    transitions: frozenset[tuple[str, str]] | None = None
    """Pairs of states; `*` stands for any."""
    outputs: frozenset[str] | None = None


@dataclass(frozen=True, kw_only=True)
class World:
    """Names from outside `policies.yaml` that an entry may use. None: not known here, so not checked."""

    groups: Groups
    types: Mapping[str, frozenset[str]] | None
    agents: Collection[str] | None


def read(doc: document.Document | None, world: World) -> tuple[tuple[Policy, ...], list[Finding]]:
    """The policies of one file. A file that cannot be read allows nothing, so it needs no denials."""
    items, findings = mend.entries(doc, key="policies", kind=list)
    if doc is None or items is None:
        return (), findings
    policies: list[Policy] = []
    first: dict[str, str] = {}
    for i, item in enumerate(cast("list[Any]", items)):
        found, more = _policy(doc, f"/policies/{i}", item, world)
        name: Any = cast("dict[str, Any]", item).get("id") if isinstance(item, dict) else None
        if isinstance(name, str) and name in first:
            more.append(_twice(doc, f"/policies/{i}", name, first[name]))
        elif isinstance(name, str):
            first[name] = doc.where(f"/policies/{i}/id")
        findings += more
        policies += found
    twice = {f.received for f in findings if f.code == "duplicate_policy"}
    return tuple(p for p in policies if p.denies or p.id not in twice), findings


def _policy(doc: document.Document, at: str, item: Any, world: World) -> tuple[list[Policy], list[Finding]]:
    entry, findings = shape.parse(doc, _Entry, at=at)
    if entry is None:
        return _closed(doc, at, item), findings
    right, findings = _right(doc, at, entry)
    if right is None:
        return _closed(doc, at, item), findings
    findings = [*_empty(doc, at, item), *_keys(doc, at, entry, right), *_names(doc, at, entry, world)]
    to, more = _to(doc, f"{at}/to", entry.to, world.groups)
    findings += more
    where, more = condition.read(doc, f"{at}/where", entry.where or {})
    findings += [*more, *_fields(doc, at, entry, world.types)]
    transitions, more = _transitions(doc, f"{at}/transitions", entry.transitions)
    findings += more
    if mend.broken(findings):
        return _closed(doc, at, item), findings
    selected = entry.records or _Records()
    policy = Policy(
        id=entry.id,
        place=doc.where(at),
        denies=entry.deny is not None,
        right=right,
        to=to,
        agents=_globs(entry.agents),
        channels=_names_or_any(entry.channels),
        types=_names_or_any(selected.types),
        paths=_globs(selected.paths),
        where=where,
        and_owned=entry.and_owned is True,
        fields=_granted(entry, right),
        transitions=transitions,
        outputs=_names_or_any(entry.outputs),
    )
    return [policy], findings


def _closed(doc: document.Document, at: str, item: Any) -> list[Policy]:
    """What stands for an entry with an error: nothing if it allows, the widest denial if it denies or may do so."""
    keys = set(cast("dict[str, Any]", item)) if isinstance(item, dict) else set[str]()
    meant = keys | {s.name for s in (suggest.suggest(k, _EFFECTS) for k in keys) if s}
    if meant & {"allow", "tell"} and "deny" not in meant:
        return []
    denied = cast("dict[str, Any]", item).get("deny") if isinstance(item, dict) else None
    rights = [denied] if isinstance(denied, str) and denied in RIGHTS and "allow" not in meant else RIGHTS
    name: Any = cast("dict[str, Any]", item).get("id") if isinstance(item, dict) else None
    label = name if isinstance(name, str) else "an entry that cannot be read"
    return [
        Policy(id=label, place=doc.where(at), denies=True, right=r, to=frozenset(), to_everyone=True) for r in rights
    ]


_EFFECTS = ("allow", "deny", "tell")


def _right(doc: document.Document, at: str, entry: _Entry) -> tuple[str | None, list[Finding]]:
    said = [k for k in _EFFECTS if getattr(entry, k) is not None]
    if len(said) == 1:
        return entry.allow or entry.deny or "tell", []
    message = "the policy neither allows, denies nor tells" if not said else f"the policy says {' and '.join(said)}"
    return None, [
        Finding(
            code="policy_effect",
            where=doc.where(at),
            message=message,
            expected="one of allow, deny, tell",
            received=", ".join(said),
            hint="write one policy for each" if said else f"add `allow:` with one of {', '.join(RIGHTS)}",
        )
    ]


def _empty(doc: document.Document, at: str, item: Any) -> list[Finding]:
    """Keys without a value: `where:` alone would read as "no condition"."""
    found: list[Finding] = []
    for place, part in ((at, item), (f"{at}/records", item.get("records"))):
        for key, value in cast("dict[str, Any]", part).items() if isinstance(part, dict) else ():
            if value is None or (value != 0 and not value):
                where = doc.where_key(place + document.pointer(key))
                found.append(mend.names_nothing(where, f"{key!r} is empty", f"fill {key!r} or remove the line"))
    return found


def _keys(doc: document.Document, at: str, entry: _Entry, right: str) -> list[Finding]:
    """Keys that say nothing about this right, and the one that it needs."""
    allowed = KEYS[right]
    found: list[Finding] = []
    for key in ("agents", "channels", "records", "where", "and_owned", "fields", "transitions", "outputs"):
        if getattr(entry, key) is not None and key not in allowed:
            found.append(
                Finding(
                    code="key_not_applicable",
                    where=doc.where_key(at + document.pointer(key)),
                    message=f"{key!r} says nothing about {right!r}",
                    expected=", ".join(("id", "to", *allowed)),
                    received=key,
                    hint=f"remove {key!r}",
                )
            )
    if allowed and getattr(entry, allowed[0]) is None:
        what = f"the policy does not say which {allowed[0]}"
        found.append(mend.names_nothing(doc.where(at), what, f"add `{allowed[0]}:`"))
    if entry.records is not None and entry.records.types is None and entry.records.paths is None:
        hint = "add `types:` or `paths:`"
        found.append(mend.names_nothing(doc.where(f"{at}/records"), "the policy does not say which records", hint))
    if right == "write" and entry.deny is None and entry.fields is None and entry.transitions is None:
        hint = "add `fields:` or `transitions:`"
        found.append(mend.names_nothing(doc.where(at), "the policy does not say what may be written", hint))
    return found


def _names(doc: document.Document, at: str, entry: _Entry, world: World) -> list[Finding]:
    """Types, paths, agents, channels and outputs that nothing declares."""
    found: list[Finding] = []
    records = entry.records or _Records()
    for i, name in enumerate(records.types or ()):
        if name != "*" and (world.types is None and not name.isidentifier()):
            found.append(mend.unknown("unknown_type", doc.where(f"{at}/records/types/{i}"), "type", name, ()))
        elif name != "*" and world.types is not None and name not in world.types:
            found.append(mend.unknown("unknown_type", doc.where(f"{at}/records/types/{i}"), "type", name, world.types))
    for key, patterns in (("records/paths", records.paths), ("agents", entry.agents)):
        for i, pattern in enumerate(patterns or ()):
            found += _pattern(doc, f"{at}/{key}/{i}", pattern)
    if world.agents is not None:
        for i, name in enumerate(entry.agents or ()):
            if not any(glob.compile(name).matches(a) for a in world.agents):
                where = doc.where(f"{at}/agents/{i}")
                found.append(mend.unknown_agent(where, name, world.agents))
    for key, names, known in (("channels", entry.channels, CHANNELS), ("outputs", entry.outputs, OUTPUTS)):
        for i, name in enumerate(names or ()):
            if name not in (*known, "*"):
                what = key.removesuffix("s")
                found.append(mend.unknown(f"unknown_{what}", doc.where(f"{at}/{key}/{i}"), what, name, known))
    return found


def _pattern(doc: document.Document, at: str, pattern: str) -> list[Finding]:
    problem = glob.problem(pattern)
    if not problem:
        return []
    hint = "write segments between slashes, with *, ? and **"
    return [Finding(code="invalid_glob", where=doc.where(at), message=problem, received=repr(pattern), hint=hint)]


def _to(doc: document.Document, at: str, to: tuple[str, ...], groups: Groups) -> tuple[frozenset[str], list[Finding]]:
    found: set[str] = set()
    findings: list[Finding] = []
    for i, written in enumerate(to):
        name, more = mend.principal_at(doc, f"{at}/{i}", written)
        findings += more
        if name and name.startswith("group:") and not groups.are_known(name):
            findings.append(mend.unknown("unknown_group", doc.where(f"{at}/{i}"), "group", name, groups.members))
        elif name:
            found.add(name)
    return frozenset(found), findings


def _fields(
    doc: document.Document, at: str, entry: _Entry, types: Mapping[str, frozenset[str]] | None
) -> list[Finding]:
    """Fields in `fields`, `tell` and `where` that none of the named types declares."""
    if entry.tell and "*" in entry.tell:
        return [mend.names_nothing(doc.where(f"{at}/tell"), "a refusal tells fields by name", "name the fields")]
    if types is None:
        return []
    named = (entry.records and entry.records.types) or ("*",)
    all_fields = frozenset({"state"}).union(*types.values())
    known = all_fields if "*" in named else frozenset({"state"}).union(*(types.get(t, NONE) for t in named))
    # With `and_owned` the fields may be those of the records that are owned.
    granted = all_fields if entry.and_owned else known
    places = [(f"{at}/fields/{i}", f, granted) for i, f in enumerate(entry.fields or ()) if f != "*"]
    places += [(f"{at}/tell/{i}", f, known) for i, f in enumerate(entry.tell or ())]
    places += [(f"{at}/where{document.pointer(f)}", f, known) for f in entry.where or {}]
    return [mend.unknown("unknown_field", doc.where(p), "field", f, ok) for p, f, ok in places if f not in ok]


def _transitions(
    doc: document.Document, at: str, written: tuple[str, ...] | None
) -> tuple[frozenset[tuple[str, str]] | None, list[Finding]]:
    if written is None:
        return None, []
    found: set[tuple[str, str]] = set()
    findings: list[Finding] = []
    for i, text in enumerate(written):
        source, arrow, target = text.partition("->")
        if text == "*":
            found.add(("*", "*"))
        elif arrow and source.strip() and target.strip() and "->" not in target:
            found.add((source.strip(), target.strip()))
        else:
            findings.append(
                Finding(
                    code="bad_transition",
                    where=doc.where(f"{at}/{i}"),
                    message=f"{text!r} is not a transition",
                    expected="ready->merged | *->merged | *",
                    received=text,
                    hint="write two states with -> between them",
                )
            )
    return frozenset(found), findings


def _twice(doc: document.Document, at: str, name: str, first: str) -> Finding:
    return Finding(
        code="duplicate_policy",
        where=doc.where(f"{at}/id"),
        message=f"a second policy is named {name!r}",
        expected="an id of its own",
        received=name,
        hint=f"rename one; the first stands at {first}",
    )


def _granted(entry: _Entry, right: str) -> Fields:
    if right == "tell":
        return frozenset(entry.tell or ())
    if entry.fields is None:
        # A write is granted field by field; a denial or a reading without `fields` speaks of the whole record.
        return NONE if right == "write" and entry.deny is None else ALL
    return ALL if "*" in entry.fields else frozenset(entry.fields)


def _globs(patterns: tuple[str, ...] | None) -> tuple[glob.Glob, ...] | None:
    return None if patterns is None else tuple(glob.compile(p) for p in patterns)


def _names_or_any(names: tuple[str, ...] | None) -> frozenset[str] | None:
    return None if names is None or "*" in names else frozenset(names)
