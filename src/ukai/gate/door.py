"""The door: bytes or plain data read into a `Delta`, or everything that is wrong with their form, place by place."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

from ukai.gate import delta as deltas
from ukai.gate import limits as limits_
from ukai.gate.rejection import Rejection, reject
from ukai.gate.wording import received, shown
from ukai.kit import document, handle, strict_json, suggest
from ukai.kit.finding import Finding

Object = dict[str, Any]
_TARGETS = ("handle", "ref", "context_ref", "id")
_BAD = re.compile("[\0\ud800-\udfff]")
_BITS = 3_322
"""Of a whole number: a thousand digits, as in text."""
MAX_VERSION = 2**31 - 1
"""No node is ever changed as often as that: the store counts in 32 bits."""


def read(
    source: Any, limits: limits_.Limits = limits_.LIMITS, *, at: str = ""
) -> tuple[deltas.Delta | None, list[Rejection]]:
    """The delta in JSON text (bytes or str) or in plain data; None when there are rejections.

    `at` is the pointer of the delta itself, where it is one of many: `/rows/17`.
    """
    value, suspicious = source, True
    if isinstance(source, bytes | str):
        value, found = strict_json.loads(source, strict_json.Limits(bytes=limits.bytes, depth=limits.depth))
        if found:
            return None, [_of_finding(f) for f in found]
        # What came as text is JSON by now; only an escaped NUL may still be in it.
        suspicious = b"\\u0000" in source if isinstance(source, bytes) else "\\u0000" in source
    if suspicious and not _clean(value, limits.depth):
        return None, list(_unclean(value, at, limits.depth))
    reader = _Reader(limits, at)
    delta = reader.delta(value)
    return (None, reader.rejections) if reader.rejections else (delta, [])


def _of_finding(finding: Finding) -> Rejection:
    code = finding.code if finding.code in ("too_large", "too_deep") else "malformed_delta"
    return reject(
        code,
        where=finding.where,
        message=finding.message,
        expected=finding.expected,
        received=finding.received,
        hint=finding.hint,
    )


def is_storable(value: Any) -> bool:
    """Whether a value is JSON whose texts the database can hold, not nested too deeply."""
    return _clean(value, limits_.LIMITS.depth)


def not_storable(value: Any) -> Iterator[Rejection]:
    """Why `is_storable` says no."""
    return _unclean(value, "", limits_.LIMITS.depth)


def _clean(value: Any, depth: int) -> bool:
    """Whether a value is JSON that can be stored; `_unclean` says why not. Every value of every row comes here."""
    if isinstance(value, str):
        return "\0" not in value if value.isascii() else _BAD.search(value) is None
    if isinstance(value, dict):
        for name, part in cast("dict[Any, Any]", value).items():
            if depth <= 0 or not isinstance(name, str) or not (name.isidentifier() or _clean(name, 1)):
                return False
            if part is not None and not _clean(part, depth - 1):
                return False
        return depth > 0
    if isinstance(value, list):
        return depth > 0 and all(_clean(v, depth - 1) for v in cast("list[Any]", value))
    if isinstance(value, Decimal | float):
        return math.isfinite(value)
    return value is None or (isinstance(value, int) and value.bit_length() <= _BITS)


def _unclean(value: Any, at: str, depth: int) -> Iterator[Rejection]:
    if isinstance(value, str):
        if _BAD.search(value):
            yield reject(
                "format_invalid",
                where=at,
                message="the text holds a character that cannot be stored",
                expected="text without U+0000 and without half surrogates",
                received=ascii(value),
                hint="leave the character out",
            )
    elif isinstance(value, dict | list) and depth <= 0:
        yield reject(
            "too_deep",
            where=at,
            message="values are nested too deeply",
            expected=f"at most {limits_.LIMITS.depth} levels",
            hint="flatten the value",
        )
    elif isinstance(value, dict):
        for name, part in cast("dict[Any, Any]", value).items():
            if isinstance(name, str):
                yield from _unclean(name, at, 1)
                yield from _unclean(part, at + document.pointer(name), depth - 1)
            else:
                yield _no_json(name, at, "a key that is text")
    elif isinstance(value, list):
        for i, part in enumerate(cast("list[Any]", value)):
            yield from _unclean(part, f"{at}/{i}", depth - 1)
    elif isinstance(value, int) and not _clean(value, depth):
        yield reject(
            "malformed_delta",
            where=at,
            message="a number is too long to compute with",
            expected="at most 1000 digits",
            received=f"{value.bit_length()} bits",
            hint="write it as text",
        )
    elif not _clean(value, depth):
        yield _no_json(value, at, "a JSON value")


def _no_json(value: Any, at: str, expected: str) -> Rejection:
    return reject(
        "malformed_delta",
        where=at,
        message=f"{type(value).__name__} is no JSON value",
        expected=expected,
        received=repr(value),
        hint="send text, numbers, true, false, null, lists and objects",
    )


class _Reader:
    """One delta. Reading goes on after a problem, so that all of them come back at once."""

    def __init__(self, limits: limits_.Limits, at: str) -> None:
        self.limits, self.at = limits, at
        self.rejections: list[Rejection] = []
        self.items = 0

    def delta(self, value: Any) -> deltas.Delta | None:
        if isinstance(value, list):
            self.malformed(
                self.at, "the operations stand alone", '{"ops": [..]}', value, 'wrap the list: {"ops": [..]}'
            )
            return None
        if not isinstance(value, dict):
            self.object_expected(self.at, value, '{"ops": [..]}')
            return None
        members = self.members(cast("Object", value), self.at, ("domain", "key", "ops"), ("ops",))
        ops = self.ops(members.get("ops")) if "ops" in members else ()
        key = self.text(members, "key", self.at)
        if len(key) > self.limits.key:
            self.too("too_large", f"{self.at}/key", f"{self.limits.key} characters", f"{len(key)}", "shorten the key")
        return deltas.Delta(ops=ops, domain=self.text(members, "domain", self.at), key=key, source=value)

    def ops(self, value: Any) -> tuple[deltas.Any_, ...]:
        place = f"{self.at}/ops"
        items = self.list_of(value, place)
        if len(items) > self.limits.ops:
            hint = "split it; parts that need each other stay together"
            self.too("too_many_ops", place, f"{self.limits.ops} operations", str(len(items)), hint)
            return ()
        found = [self.op(item, f"{place}/{i}") for i, item in enumerate(items)]
        if self.items > self.limits.items:
            self.too(
                "too_many_ops", place, f"{self.limits.items} nodes and edges", str(self.items), "split the batches"
            )
        return tuple(op for op in found if op is not None)

    def op(self, value: Any, at: str) -> deltas.Any_ | None:
        if not isinstance(value, dict):
            self.object_expected(at, value, '{"kind": .., ..}')
            return None
        members = cast("Object", value)
        kind = self.kind(members, at)
        if kind is None:
            return None
        self.items += 1
        read, required, optional = _OPS[kind]
        return read(self, self.members(members, at, ("kind", *required, *optional), required, op=kind), at)

    def kind(self, members: Object, at: str) -> str | None:
        name = "kind" if "kind" in members else next((n for n in members if suggest.suggest(n, ("kind",))), "")
        if not name:
            self.malformed(at, "the operation names no kind", " | ".join(_OPS), members, "add `kind`")
            return None
        kind = members[name]  # a misspelt name is told by `members`
        if isinstance(kind, str) and kind in _OPS:
            return kind
        meant = suggest.suggest(kind, _OPS) if isinstance(kind, str) else None
        self.rejections.append(
            reject(
                "unknown_op",
                where=f"{at}/{name}",
                message=f"no operation is called {shown(kind)}",
                expected=" | ".join(_OPS),
                expected_value={"values": list(_OPS)},
                received=shown(kind),
                received_value=received(kind),
                hint=f"set kind to {meant.name!r}" if meant else suggest.hint_for(str(kind), _OPS),
                patch=[{"op": "replace", "path": f"{at}/{name}", "value": meant.name}] if meant else (),
                confidence=meant.confidence if meant else None,
                op=str(kind)[:40],
            )
        )
        return meant.name if meant else None

    def members(
        self, value: Object, at: str, known: tuple[str, ...], required: tuple[str, ...], *, op: str = ""
    ) -> Object:
        """The members that are known; a misspelt one is reported and read as the one that was meant."""
        if value.keys() <= set(known) and all(r in value for r in required):
            return value
        found = {k: v for k, v in value.items() if k in known}
        for name in value.keys() - found.keys():
            free = [k for k in known if k not in value]
            meant = suggest.suggest(name, free)
            place = at + document.pointer(name)
            patch: list[Object] = [{"op": "remove", "path": place}]
            hint = f"remove {name!r}"
            if meant:
                patch, hint = (
                    [{"op": "move", "from": place, "path": f"{at}/{meant.name}"}],
                    f"rename it to {meant.name!r}",
                )
                found[meant.name] = value[name]
            elif "set" in known:
                # A field that stands beside `set` belongs into it; removing it would lose a value.
                inside = {"op": "move", "from": place, "path": f"{at}/set{document.pointer(name)}"}
                patch = [inside] if isinstance(value.get("set"), dict) else []
                hint = f"put {name!r} into 'set' if it is a field of the node; else remove it"
            self.rejections.append(
                reject(
                    "malformed_delta",
                    where=place,
                    message=f"{op or 'a delta'} has no member {name!r}",
                    expected=", ".join(known),
                    received=name,
                    hint=hint,
                    patch=patch,
                    confidence=meant.confidence if meant else "likely",
                    op=op,
                )
            )
        for name in required:
            if name not in found:
                self.malformed(at, f"{op or 'a delta'} lacks {name!r}", name, None, f"add {name!r}", op=op)
        return found

    # Parts.

    def text(self, members: Object, name: str, at: str) -> str:
        value = members.get(name)
        if value is None or isinstance(value, str):
            return value or ""
        self.malformed(f"{at}/{name}", f"{name!r} is not text", "text", value, f"write {name!r} as text")
        return ""

    def version(self, members: Object, at: str) -> int | None:
        value = members.get("if_version")
        if value is None or (type(value) is int and 0 <= value <= MAX_VERSION):
            return value
        text = value if isinstance(value, str) and value.isdecimal() and len(value) < 10 else ""
        patch = [{"op": "replace", "path": f"{at}/if_version", "value": int(text)}] if text else ()
        self.malformed(
            f"{at}/if_version",
            "'if_version' is no version",
            "a whole number",
            value,
            "write the version as read",
            patch,
        )
        return None

    def values(self, members: Object, name: str, at: str) -> Mapping[str, Any]:
        value = members.get(name, {})
        if isinstance(value, dict):
            return cast("Object", value)
        self.object_expected(f"{at}/{name}", value, "{field: value, ..}")
        return {}

    def list_of(self, value: Any, at: str) -> list[Any]:
        if isinstance(value, list):
            return cast("list[Any]", value)
        wrapped: list[Any] = [value]
        patch: list[Object] = [{"op": "replace", "path": at, "value": wrapped}] if isinstance(value, dict) else []
        self.rejections.append(
            reject(
                "list_expected",
                where=at,
                message=f"{at} is not a list",
                expected="a list of objects",
                received=shown(value),
                expected_value={"kind": "list"},
                received_value=received(value),
                hint="put the one object into a list" if patch else "write a JSON list of objects, not prose",
                patch=patch,
            )
        )
        return []

    def target(self, members: Object, name: str, at: str) -> deltas.Target | None:
        """One of the four ways to name a node."""
        if name not in members:
            return None  # reported as missing
        value, place = members[name], f"{at}/{name}"
        if not isinstance(value, dict):
            meant = _named(value)
            patch = [{"op": "replace", "path": place, "value": meant}] if meant else ()
            self.object_expected(place, value, '{"handle": "Type#key"}', patch)
            return None
        named = cast("Object", value)
        if len(named) != 1 or next(iter(named)) not in _TARGETS:
            self.malformed(
                place,
                "a target is named in exactly one way",
                " | ".join(_TARGETS),
                value,
                'write {"handle": "Type#key"}, {"ref": "$x"} or {"context_ref": ..}',
            )
            return None
        kind, text = next(iter(named.items()))
        if not isinstance(text, str) or not text:
            self.malformed(f"{place}/{kind}", "a target is named by text", "text", text, "write the name as text")
            return None
        self.named_well(kind, text, place)
        return deltas.Target(kind=cast("deltas.TargetKind", kind), value=text, at=place)

    def named_well(self, kind: str, text: str, place: str) -> None:
        parsed = handle.parse(text)
        if kind == "handle" and (parsed is None or parsed.part):
            whole = str(parsed.whole) if parsed else ""
            self.rejections.append(
                reject(
                    "format_invalid",
                    where=f"{place}/handle",
                    message=f"{text!r} is not the handle of a node",
                    expected="Type#key",
                    received=shown(text),
                    hint=f"name the whole record: {whole}" if whole else "write Type#key, as it was read",
                    patch=[{"op": "replace", "path": f"{place}/handle", "value": whole}] if whole else (),
                )
            )
        elif kind == "id" and not _is_uuid(text):
            self.rejections.append(
                reject(
                    "format_invalid",
                    where=f"{place}/id",
                    message=f"{text!r} is not the id of a node",
                    expected="a UUID",
                    received=shown(text),
                    hint="name the node by its handle, Type#key; an id is never invented",
                    patch=[{"op": "replace", "path": place, "value": {"handle": text}}] if parsed else (),
                )
            )

    # Rejections.

    def malformed(
        self, at: str, message: str, expected: str, value: Any, hint: str, patch: Any = (), *, op: str = ""
    ) -> None:
        self.rejections.append(
            reject(
                "malformed_delta",
                where=at,
                message=message,
                expected=expected,
                received=shown(value) if value is not None else "",
                received_value=received(value),
                hint=hint,
                patch=patch,
                op=op,
            )
        )

    def object_expected(self, at: str, value: Any, expected: str, patch: Any = ()) -> None:
        self.rejections.append(
            reject(
                "object_expected",
                where=at,
                message=f"{at or 'the delta'} is not an object",
                expected=expected,
                received=shown(value),
                expected_value={"kind": "object"},
                received_value=received(value),
                hint=f"write {expected}",
                patch=patch,
            )
        )

    def too(self, code: str, at: str, limit: str, size: str, hint: str) -> None:
        self.rejections.append(
            reject(
                code, where=at, message="the delta is too large", expected=f"at most {limit}", received=size, hint=hint
            )
        )


def _named(value: Any) -> Object | None:
    if not isinstance(value, str):
        return None
    if value.startswith("$"):
        return {"ref": value}
    if _is_uuid(value):
        return {"id": value}
    return {"handle": value} if handle.parse(value) else None


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


# The operations: one reader and one line each.

_NOBODY = deltas.Target(kind="ref", value="", at="")


def _create_node(r: _Reader, m: Object, at: str) -> deltas.CreateNode:
    return deltas.CreateNode(
        at=at,
        node_type=r.text(m, "node_type", at),
        set=r.values(m, "set", at),
        ref=r.text(m, "ref", at),
        to_state=r.text(m, "to_state", at) or None,
    )


def _update_node(r: _Reader, m: Object, at: str) -> deltas.UpdateNode | None:
    target = r.target(m, "target", at)
    found = deltas.UpdateNode(
        at=at,
        target=target or _NOBODY,
        node_type=r.text(m, "node_type", at),
        set=r.values(m, "set", at),
        test=r.values(m, "test", at),
        if_version=r.version(m, at),
        to_state=r.text(m, "to_state", at) or None,
    )
    return found if target else None


def _upsert_node(r: _Reader, m: Object, at: str) -> deltas.UpsertNode:
    return deltas.UpsertNode(
        at=at,
        node_type=r.text(m, "node_type", at),
        match=r.values(m, "match", at),
        set=r.values(m, "set", at),
        ref=r.text(m, "ref", at),
        if_version=r.version(m, at),
        test=r.values(m, "test", at),
        to_state=r.text(m, "to_state", at) or None,
    )


def _delete_node(r: _Reader, m: Object, at: str) -> deltas.DeleteNode | None:
    target = r.target(m, "target", at)
    version, test = r.version(m, at), r.values(m, "test", at)
    named = r.text(m, "node_type", at)
    return deltas.DeleteNode(at=at, target=target, node_type=named, if_version=version, test=test) if target else None


def _ends(r: _Reader, m: Object, at: str) -> tuple[deltas.Target, deltas.Target] | None:
    source, target = r.target(m, "from", at), r.target(m, "to", at)
    return (source, target) if source and target else None


def _create_edge(r: _Reader, m: Object, at: str) -> deltas.CreateEdge | None:
    ends, named, values = _ends(r, m, at), r.text(m, "edge_type", at), r.values(m, "set", at)
    return deltas.CreateEdge(at=at, edge_type=named, source=ends[0], target=ends[1], set=values) if ends else None


def _update_edge(r: _Reader, m: Object, at: str) -> deltas.UpdateEdge | None:
    ends, named, version = _ends(r, m, at), r.text(m, "edge_type", at), r.version(m, at)
    values, test = r.values(m, "set", at), r.values(m, "test", at)
    if ends is None:
        return None
    return deltas.UpdateEdge(
        at=at, edge_type=named, source=ends[0], target=ends[1], set=values, test=test, if_version=version
    )


def _delete_edge(r: _Reader, m: Object, at: str) -> deltas.DeleteEdge | None:
    ends, named, version = _ends(r, m, at), r.text(m, "edge_type", at), r.version(m, at)
    test = r.values(m, "test", at)
    if ends is None:
        return None
    return deltas.DeleteEdge(at=at, edge_type=named, source=ends[0], target=ends[1], if_version=version, test=test)


def _batch(r: _Reader, m: Object, at: str, known: tuple[str, ...], required: tuple[str, ...], name: str) -> list[Any]:
    """The items of a batch, each read as the single operation that it stands for."""
    read = _create_node if name == "node_type" else _create_edge
    found: list[Any] = []
    for i, item in enumerate(r.list_of(m.get("items", []), f"{at}/items")):
        place = f"{at}/items/{i}"
        if not isinstance(item, dict):
            r.object_expected(place, item, '{"set": {..}}' if name == "node_type" else '{"from": {..}, "to": {..}}')
            continue
        r.items += 1
        kind = "create_node" if name == "node_type" else "create_edge"
        members = r.members(cast("Object", item), place, known, required, op=f"an item of {kind}s_batch")
        found.append(read(r, {**members, name: m.get(name)}, place))
    return [f for f in found if f is not None]


def _create_nodes(r: _Reader, m: Object, at: str) -> deltas.CreateNodesBatch:
    items = _batch(r, m, at, ("set", "ref", "to_state"), (), "node_type")
    return deltas.CreateNodesBatch(at=at, node_type=r.text(m, "node_type", at), items=tuple(items))


def _create_edges(r: _Reader, m: Object, at: str) -> deltas.CreateEdgesBatch:
    items = _batch(r, m, at, ("from", "to", "set"), ("from", "to"), "edge_type")
    return deltas.CreateEdgesBatch(at=at, edge_type=r.text(m, "edge_type", at), items=tuple(items))


_Read = Callable[[_Reader, Object, str], "deltas.Any_ | None"]
_TESTS = ("if_version", "test")
_OPS: Mapping[str, tuple[_Read, tuple[str, ...], tuple[str, ...]]] = {
    "create_node": (_create_node, ("node_type",), ("ref", "set", "to_state")),
    "update_node": (_update_node, ("target",), ("node_type", "set", "to_state", *_TESTS)),
    "upsert_node": (_upsert_node, ("node_type", "match"), ("ref", "set", "to_state", *_TESTS)),
    "create_edge": (_create_edge, ("edge_type", "from", "to"), ("set",)),
    "update_edge": (_update_edge, ("edge_type", "from", "to"), ("set", *_TESTS)),
    "create_nodes_batch": (_create_nodes, ("node_type", "items"), ()),
    "create_edges_batch": (_create_edges, ("edge_type", "items"), ()),
    "delete_edge": (_delete_edge, ("edge_type", "from", "to"), _TESTS),
    "delete_node": (_delete_node, ("target",), ("node_type", *_TESTS)),
}
"""Kind -> its reader, the members it must have, the members it may have."""
KINDS = tuple(_OPS)
"""What an operation may be."""
REQUIRED = {kind: required for kind, (_, required, _) in _OPS.items()}
"""Kind -> the members that an operation must have."""
OPTIONAL = {kind: optional for kind, (_, _, optional) in _OPS.items()}
"""Kind -> the members that it may have besides."""
