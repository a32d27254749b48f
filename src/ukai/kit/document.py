"""Files that users write: YAML or front matter read into plain data whose every value knows its line and column.

The language is YAML 1.2 with the core schema, kept narrow on purpose: one document, string keys, no tags of one's own,
no directives, no merge keys, no duplicate keys. `no` is text, `1:30` is text, `012` is text, a date is text.
"""

# ruamel.yaml ships no types for its nodes.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from ukai.kit.finding import Finding, excerpt

MAX_BYTES = 1 << 20
"""Files above this are refused unread; the sample company's largest is 40 KiB."""
MAX_FRONT_MATTER = 64 << 10
MAX_DEPTH = 60
MAX_NODES = 50_000
"""Counted while the text is read, which keeps the worst file to seconds, and again with aliases followed, so that a
small file cannot grow into a large value.
"""
MAX_FINDINGS = 100
"""Of one file; what follows is not told one by one."""

_CORE = "tag:yaml.org,2002:"
_INT = re.compile(r"[-+]?(?:0o[0-7]+|0x[0-9a-fA-F]+|[0-9]+)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_GLUED_COMMENT = re.compile(r"[,\[\]{}]#")


@dataclass(frozen=True, kw_only=True)
class Document:
    """Plain data and where each part of it stands."""

    name: str
    """The file as shown to people, relative to the workspace."""
    data: Any
    """dict, list, str, int, float, bool or None."""
    marks: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """JSON pointer of a value -> (line, column), from 1; a mapping's key has its own mark under `pointer + "\\0"`."""
    body: str = ""
    """The prose below the front matter."""
    body_line: int = 1

    def where(self, pointer: str = "") -> str:
        """`file:line:column` of the value at `pointer`, or of its nearest parent that has a place."""
        while pointer and pointer not in self.marks:
            pointer = pointer.rpartition("/")[0]
        line, column = self.marks.get(pointer, (1, 1))
        return f"{self.name}:{line}:{column}"

    def where_key(self, pointer: str) -> str:
        """`file:line:column` of the key whose value stands at `pointer`."""
        mark = self.marks.get(pointer + "\0")
        return f"{self.name}:{mark[0]}:{mark[1]}" if mark else self.where(pointer)


def read(raw: bytes, *, name: str) -> tuple[Document | None, list[Finding]]:
    """A whole file of YAML (or JSON). No document comes back when there is an error finding."""
    text, findings = decode(raw, name=name)
    if text is None:
        return None, findings
    data, marks, more = _load(text, name=name, first_line=1)
    findings += more
    if any(f.severity == "error" for f in findings):
        return None, findings
    return Document(name=name, data=data, marks=marks), findings


def read_front_matter(raw: bytes, *, name: str, most: int = MAX_BYTES) -> tuple[Document | None, list[Finding]]:
    """A file that opens with `---`, YAML, `---`, and goes on in prose. The YAML must be a mapping."""
    text, findings = decode(raw, name=name, most=most)
    if text is None:
        return None, findings
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return None, [
            *findings,
            Finding(
                code="front_matter_missing",
                where=f"{name}:1:1",
                message="the file does not open with front matter",
                expected="a first line of ---",
                received=excerpt(lines[0]),
                hint="begin the file with a line of ---, the fields, and another line of ---",
            ),
        ]
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        return None, [
            *findings,
            Finding(
                code="front_matter_open",
                where=f"{name}:1:1",
                message="the front matter is never closed",
                expected="a second line of ---",
                hint="add a line of --- between the fields and the prose",
            ),
        ]
    head = "\n".join(lines[1:end]) + "\n"
    if len(head.encode("utf-8", "surrogatepass")) > MAX_FRONT_MATTER:
        return None, [
            *findings,
            Finding(
                code="too_large",
                where=f"{name}:1:1",
                message="the front matter is too large",
                expected=f"at most {MAX_FRONT_MATTER} bytes",
                hint="move prose below the second ---",
            ),
        ]
    data, marks, more = _load(head, name=name, first_line=2)
    findings += more
    if not any(f.severity == "error" for f in findings) and not isinstance(data, dict):
        findings.append(
            Finding(
                code="mapping_expected",
                where=f"{name}:2:1",
                message="the front matter is not a mapping",
                expected="lines of `field: value`",
                received=excerpt(data),
                hint="write one `field: value` a line",
            )
        )
    if any(f.severity == "error" for f in findings):
        return None, findings
    body = "\n".join(lines[end + 1 :])
    return Document(name=name, data=data, marks=marks, body=body, body_line=end + 2), findings


def decode(raw: bytes, *, name: str, most: int = MAX_BYTES) -> tuple[str | None, list[Finding]]:
    """UTF-8 text with `\\n` line ends. A byte order mark is dropped with a note; other encodings are findings."""
    if len(raw) > most:
        return None, [
            Finding(
                code="too_large",
                where=f"{name}:1:1",
                message="the file is too large to be read",
                expected=f"at most {most} bytes",
                received=f"{len(raw)} bytes",
                hint="split the file",
            )
        ]
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return None, [
            Finding(
                code="encoding",
                where=f"{name}:1:1",
                message="the file is UTF-16",
                expected="UTF-8",
                received="a UTF-16 byte order mark",
                hint="save the file as UTF-8",
            )
        ]
    findings: list[Finding] = []
    if raw.startswith(b"\xef\xbb\xbf"):
        raw = raw[3:]
        findings.append(
            Finding(
                code="byte_order_mark",
                severity="note",
                where=f"{name}:1:1",
                message="a byte order mark was skipped",
                hint="save the file as UTF-8 without a byte order mark",
            )
        )
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = _place(raw[: error.start].decode("utf-8", "replace"))
        return None, [
            *findings,
            Finding(
                code="encoding",
                where=f"{name}:{line}:{column}",
                message="the file is not UTF-8",
                expected="UTF-8",
                received=f"byte 0x{raw[error.start]:02x}",
                hint="save the file as UTF-8",
            ),
        ]
    if "\0" in text:
        line, column = _place(text[: text.index("\0")])
        return None, [
            *findings,
            Finding(
                code="encoding",
                where=f"{name}:{line}:{column}",
                message="the file holds a NUL character",
                expected="text",
                received="U+0000",
                hint="remove the character",
            ),
        ]
    return text.replace("\r\n", "\n").replace("\r", "\n"), findings


def pointer(*parts: str | int) -> str:
    """A JSON pointer (RFC 6901) of `parts`."""
    return "".join("/" + str(p).replace("~", "~0").replace("/", "~1") for p in parts)


def _place(before: str) -> tuple[int, int]:
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def _load(text: str, *, name: str, first_line: int) -> tuple[Any, dict[str, tuple[int, int]], list[Finding]]:
    """Data, marks, findings. All that ruamel can raise ends in one finding with its place."""
    nodes, refused = _nodes(text)
    if refused is not None:
        line, column = (int(n) for n in refused.where.split(":"))
        return None, {}, [replace(refused, where=f"{name}:{line + first_line - 1}:{column}")]
    reader = _Reader(text=text, name=name, first_line=first_line)
    if re.search(r"(?m)^%", text):
        reader.refuse(
            "yaml_directive", first_line, 1, "directives are not read", hint="remove the line that opens with %"
        )
    if len(nodes) > 1:
        line, column = reader.at(nodes[1]) if nodes[1] is not None else (first_line, 1)
        reader.refuse(
            "several_documents", line, column, "the file holds several documents", hint="keep one document a file"
        )
    data = None
    if nodes and nodes[0] is not None:
        try:
            data = reader.value(nodes[0], "", 0)
        except _Stop:
            data = None
    return data, reader.marks, reader.findings


def _nodes(text: str) -> tuple[list[Node | None], Finding | None]:
    """The documents of the text as ruamel's nodes, or the finding that keeps it from being read: `line:column`."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = _Bounded
    try:
        return list(yaml.compose_all(text)), None
    except _Excess as excess:
        return [], replace(excess.finding, where=f"{excess.line + 1}:{excess.column + 1}")
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return [], Finding(
            code="yaml_syntax",
            where=f"{mark.line + 1}:{mark.column + 1}" if mark else "1:1",
            message=" ".join(str(error.problem or error.context or "unreadable").split()),
            expected="YAML 1.2",
            hint="check indentation, quotes and brackets near this place",
        )
    except ReaderError as error:
        line, column = _place(text[: error.position])
        return [], Finding(
            code="encoding",
            where=f"{line}:{column}",
            message="a control character stands in the text",
            expected="printable characters",
            received=f"U+{ord(text[error.position]):04X}",
            hint="remove the character, or write it as an escape in double quotes",
        )
    except (YAMLError, ValueError, AttributeError, IndexError, TypeError, AssertionError) as error:
        # The reader's own faults on hostile input are the author's to repair as well: the text is not YAML we read.
        return [], Finding(
            code="yaml_syntax",
            where="1:1",
            message="the text cannot be read as YAML",
            expected="YAML 1.2",
            received=excerpt(str(error)),
            hint="simplify the file",
        )


class _Stop(Exception):
    """Enough was seen; the finding is written."""


class _Excess(Exception):
    """The text holds more than is read; `finding` has no place yet."""

    def __init__(self, finding: Finding, line: int, column: int) -> None:
        super().__init__(finding.message)
        self.finding, self.line, self.column = finding, line, column


_TOO_DEEP = Finding(
    code="too_deep",
    where="",
    message="nested too deeply",
    expected=f"at most {MAX_DEPTH} levels",
    hint="flatten the file",
)
_TOO_MANY = Finding(
    code="too_large",
    where="",
    message=f"more than {MAX_NODES} values, aliases followed",
    expected=f"at most {MAX_NODES} values",
    hint="split the file, and write no aliases that multiply",
)


class _Bounded(Composer):
    """ruamel's composer, which stops early: counting afterwards would come seconds too late on a hostile file."""

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader=loader)
        self.warn_double_anchors = False  # an anchor may be used again; the language says so
        self.count = self.level = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.count += 1
        self.level += 1
        if self.count > MAX_NODES or self.level > MAX_DEPTH + 1:
            mark = self.parser.peek_event().start_mark
            raise _Excess(_TOO_MANY if self.count > MAX_NODES else _TOO_DEEP, mark.line, mark.column)
        node = super().compose_node(parent, index)
        self.level -= 1
        return node


class _Reader:
    """Nodes to plain data."""

    def __init__(self, *, text: str, name: str, first_line: int) -> None:
        self.text, self.name, self.first_line = text, name, first_line
        self.marks: dict[str, tuple[int, int]] = {}
        self.findings: list[Finding] = []
        self.count = 0
        self.open: set[int] = set()
        self.blocks = 0
        """How many block collections are open around the value."""

    def refuse(self, code: str, line: int, column: int, message: str, *, received: str = "", hint: str = "") -> None:
        self.add(
            Finding(
                code=code,
                where="",
                message=message,
                received=received,
                hint=hint,
            ),
            line,
            column,
        )

    def add(self, finding: Finding, line: int, column: int) -> None:
        self.findings.append(replace(finding, where=f"{self.name}:{line}:{column}"))
        if len(self.findings) >= MAX_FINDINGS:
            raise _Stop

    def at(self, node: Node) -> tuple[int, int]:
        mark = node.start_mark
        return (mark.line + self.first_line, mark.column + 1) if mark else (self.first_line, 1)

    def value(self, node: Node, place: str, depth: int) -> Any:
        self.count += 1
        line, column = self.at(node)
        if self.count > MAX_NODES:
            self.add(_TOO_MANY, line, column)
            raise _Stop
        if depth > MAX_DEPTH:
            self.add(_TOO_DEEP, line, column)
            raise _Stop
        if id(node) in self.open:
            self.refuse(
                "yaml_cycle", line, column, "an alias points at a value that holds it", hint="write the value out"
            )
            raise _Stop
        self.marks.setdefault(place, (line, column))
        if isinstance(node, ScalarNode):
            return self.scalar(node)
        self.open.add(id(node))
        self.blocks += not getattr(node, "flow_style", False)
        try:
            if isinstance(node, SequenceNode):
                self.tag(node, "seq")
                self.gaps(node)
                return [self.value(item, f"{place}/{i}", depth + 1) for i, item in enumerate(node.value)]
            if isinstance(node, MappingNode):
                self.tag(node, "map")
                self.gaps(node)
                return self.mapping(node, place, depth)
        finally:
            self.open.discard(id(node))
            self.blocks -= not getattr(node, "flow_style", False)
        self.refuse("yaml_syntax", line, column, "a value of unknown form")
        return None

    def mapping(self, node: MappingNode, place: str, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line, column = self.at(key_node)
            if isinstance(key_node, ScalarNode) and key_node.value == "<<" and key_node.style is None:
                self.refuse("yaml_merge_key", line, column, "merge keys are not read", hint="write the fields out")
                continue
            if self.text_before(key_node) == "?":
                # ruamel reads `{?a: 1}` as an explicit key `a`; the language reads the key `?a`.
                self.refuse(
                    "yaml_syntax", line, column, "a key opens with ?", hint="quote the key, or put a space after ?"
                )
                continue
            key: Any = self.scalar(key_node) if isinstance(key_node, ScalarNode) else None
            if isinstance(key_node, ScalarNode) and not isinstance(key, str) and key_node.style is None:
                key = str(key_node.value)  # `42: x` and `null: x` keep the spelling that was written
            if not isinstance(key, str):
                self.refuse("key_not_text", line, column, "a key is not text", hint="use a plain word as the key")
                continue
            child = place + pointer(key)
            if key in result:
                first = self.marks.get(child + "\0", (0, 0))
                self.refuse(
                    "duplicate_key",
                    line,
                    column,
                    f"{key!r} stands here a second time",
                    received=key,
                    hint=f"remove one; the first is on line {first[0]}",
                )
                continue
            self.marks[child + "\0"] = (line, column)
            result[key] = self.value(value_node, child, depth + 1)
        return result

    def scalar(self, node: ScalarNode) -> Any:
        text = self.characters(node)
        tag = str(node.tag or "")
        line, column = self.at(node)
        if node.style is None and text == "-":
            self.refuse("yaml_syntax", line, column, "a lone dash is not a value", hint="quote it: '-'")
            return text
        plain = node.style is None
        explicit = self.text_at(node).startswith("!")
        if explicit and tag not in {_CORE + t for t in ("str", "int", "float", "bool", "null")} and tag != "!":
            self.refuse("yaml_tag", line, column, f"the tag {tag!r} is not read", hint="remove the tag")
            return text
        if tag == _CORE + "str" or tag == "!" or not (plain or explicit):
            return text
        return _core(text)

    def characters(self, node: ScalarNode) -> str:
        """The scalar's text. JSON writes what lies beyond U+FFFF as two escapes; half of such a pair is no text."""
        text = str(node.value)
        if text.isascii() and "\0" not in text:
            return text
        try:
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            self.refuse(
                "encoding", *self.at(node), "half of a surrogate pair is no character", hint="remove the escape"
            )
            return ""
        if "\0" in text:
            self.refuse("encoding", *self.at(node), "the text holds U+0000", hint="remove the escape")
        return text

    def text_at(self, node: Node) -> str:
        mark = node.start_mark
        return self.text[mark.index : mark.index + 1] if mark else ""

    def text_before(self, node: Node) -> str:
        mark = node.start_mark
        return self.text[mark.index - 1 : mark.index] if mark and mark.index else ""

    def tag(self, node: Node, kind: str) -> None:
        if str(node.tag or "") not in (_CORE + kind, "!", ""):
            line, column = self.at(node)
            self.refuse("yaml_tag", line, column, f"the tag {node.tag!s} is not read", hint="remove the tag")

    def gaps(self, node: Node) -> None:
        """What ruamel lets pass between the parts of `[..]` and `{..}` and the language does not."""
        if not getattr(node, "flow_style", False) or node.end_mark is None:
            return
        parts: list[Node] = [n for pair in node.value for n in (pair if isinstance(pair, tuple) else (pair,))]
        starts = [*(p.start_mark.index for p in parts), node.end_mark.index - 1]
        ends = [node.start_mark.index + 1, *(p.end_mark.index for p in parts)]
        for index in {node.start_mark.index, *ends[1:], starts[-1]}:
            if _GLUED_COMMENT.match(self.text[index : index + 2]):
                self.refuse_at(index + 1, "a comment needs a space before its #", hint="put a space before #")
        for start, end in zip(starts, ends, strict=True):
            tab = self.text.find("\n\t", end, start) if self.blocks else -1
            if tab >= 0:
                self.refuse_at(tab + 1, "a tab stands where indentation is needed", hint="indent with spaces")

    def refuse_at(self, index: int, message: str, *, hint: str) -> None:
        line, column = _place(self.text[:index])
        self.refuse("yaml_syntax", line + self.first_line - 1, column, message, hint=hint)


def _core(text: str) -> Any:
    """The YAML 1.2 core schema, without its infinities and NaN, which no format of ours knows."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in ("true", "True", "TRUE"):
        return True
    if text in ("false", "False", "FALSE"):
        return False
    if _INT.match(text) and len(text) <= 40:
        digits = text.lstrip("+-")
        if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
            return text  # 012 is 10 to some readers and 12 to others: it stays text
        sign = -1 if text[0] == "-" else 1
        base = 8 if digits.startswith("0o") else 16 if digits.startswith("0x") else 10
        return sign * int(digits[2:] if base != 10 else digits, base)
    if _FLOAT.match(text) and len(text) <= 40:
        number = float(text)
        return number if number not in (float("inf"), float("-inf")) else text
    return text
