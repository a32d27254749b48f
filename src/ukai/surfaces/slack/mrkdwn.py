"""An answer in Markdown as Slack's own markup, block by block.

Slack reads `&`, `<` and `>` as its own: `<!channel>` calls everybody. All three are escaped wherever they come from the
answer, so that nothing but a link that we write ourselves is ever read as one. Slack knows no escape for its marks: an
invisible blank behind `*`, `_` and `~` makes them none, and a backtick that is meant is written with its twin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

BLANK = "\u200b"
"""Zero width space: a mark with it at its side is none."""
FENCE = "```"
TWIN = "\u02cb"
"""Modifier letter grave accent."""
_MARKS = {"strong": "*", "em": "_", "s": "~"}
_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_LITERAL = re.compile(r"[*_~]")
_LINK = re.compile(r"(?:https?://|mailto:)[^\s<>|]+\Z", re.IGNORECASE)


def blocks(markdown: str) -> list[str]:
    """The answer's paragraphs, lists, tables and fences, each as Slack's markup. A fence starts and ends with ```."""
    tree = SyntaxTreeNode(_PARSER.parse(markdown.replace(BLANK, "")))
    return [text for node in tree.children if (text := _block(node))]


def escaped(text: str) -> str:
    """`text` as Slack shows it, whatever it holds."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def plain(text: str) -> str:
    """`text` where no mark in it is meant: `2*3*4` stays what it is."""
    return _LITERAL.sub(lambda m: m[0] + BLANK, escaped(text)).replace("`", TWIN)


def _block(node: SyntaxTreeNode) -> str:
    match node.type:
        case "fence" | "code_block":
            return _fenced(node.content.rstrip("\n"))
        case "html_block":
            return plain(node.content.rstrip("\n"))
        case "heading":
            return _wrapped("*", _inline(node))
        case "bullet_list" | "ordered_list":
            return "\n".join(_items(node))
        case "blockquote":
            inner = "\n\n".join(_block(child) for child in node.children)
            return "\n".join(f"> {line}".rstrip() for line in inner.split("\n"))
        case "table":
            return _fenced(_table(node))
        case "hr":
            return "\u2014" * 3
        case _:
            return _inline(node)


def _items(node: SyntaxTreeNode) -> Iterator[str]:
    number = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else None
    for item in node.children:
        sign = "\u2022" if number is None else f"{number}."
        text = "\n".join(_block(child) for child in item.children)
        pad = " " * (len(sign) + 1)
        yield f"{sign} " + text.replace("\n", f"\n{pad}")
        number = None if number is None else number + 1


def _inline(node: SyntaxTreeNode) -> str:
    found = ""
    for i, child in enumerate(node.children):
        text = _inline_one(child)
        if child.type in _MARKS:
            after = _words(node.children[i + 1])[:1] if i + 1 < len(node.children) else ""
            text = text if _ends(found[-1:]) and _ends(after) else _inline(child)
        found += text
    return found


def _ends(beside: str) -> bool:
    """Whether Slack takes a mark for one beside this character: not inside a word, nor at another mark."""
    return not beside or beside.isspace() or (not beside.isalnum() and beside not in f"*_~`{TWIN}{BLANK}")


def _inline_one(node: SyntaxTreeNode) -> str:
    match node.type:
        case "text" | "html_inline":
            return plain(node.content)
        case "softbreak" | "hardbreak":
            return "\n"
        case "code_inline":
            return _code(node.content)
        case "strong" | "em" | "s":
            return _wrapped(_MARKS[node.type], _inline(node))
        case "link":
            return _link(str(node.attrs.get("href", "")), _inline(node))
        case "image":
            return _link(str(node.attrs.get("src", "")), plain(node.content))
        case _:
            return _inline(node)


def _code(text: str) -> str:
    """A backtick cannot stand inside a span: then the text is shown without its form."""
    return plain(text) if "`" in text or not text.strip() else f"`{escaped(text)}`"


def _fenced(text: str) -> str:
    return f"{FENCE}\n{escaped(text.replace(FENCE, TWIN * 3))}\n{FENCE}"


def _wrapped(mark: str, text: str) -> str:
    """Slack takes a mark for one only if it stands against the text on one line, and not inside another of its kind."""
    if not text.strip(BLANK + " ") or text != text.strip() or "\n" in text or mark in text or "`" in text:
        return text
    return f"{mark}{text}{mark}"


def _link(target: str, text: str) -> str:
    if not _LINK.match(target):
        return text
    shown = text.replace("|", "\u2758").replace("\n", " ").strip()
    return (
        f"<{escaped(target)}|{shown}>" if shown and "<" not in shown else f"<{escaped(target)}>{shown and ' ' + shown}"
    )


def _table(node: SyntaxTreeNode) -> str:
    rows = [[_cell(cell) for cell in row.children] for part in node.children for row in part.children]
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(max(map(len, rows)))]
    lines = [" | ".join(text.ljust(width) for text, width in zip(row, widths, strict=False)).rstrip() for row in rows]
    return "\n".join([lines[0], "-+-".join("-" * width for width in widths), *lines[1:]])


def _cell(node: SyntaxTreeNode) -> str:
    return "".join(_words(child) for child in node.children)


def _words(node: SyntaxTreeNode) -> str:
    """What a reader sees of it, without any form."""
    if node.type in ("softbreak", "hardbreak"):
        return " "
    return node.content if not node.children else "".join(_words(child) for child in node.children)
