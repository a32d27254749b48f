"""Links and images of an answer: only what its sources or the workspace name stays live (P3.4, pain of exfiltration).

A record that somebody else wrote may ask a model to show an image or a link whose address carries what was read: most
clients fetch images and previews without being asked. So an address stays as it is only when the question or a result
of this turn holds it whole, or when its host is on the workspace's list. Images are fetched by themselves and need the
list. Of every other address the host is left, in a form that no client makes a link of.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from urllib.parse import unquote, urlsplit

# Possessive throughout: what a model writes must not make the search go back over it again and again.
_TARGET = r"<[^<>\n]*+>|(?>(?:[^\s()<>]|\((?>(?:[^\s()]|\([^\s()]*+\))*)\))*)"
_END = rf"\(\s*+(?P<target>{_TARGET})(?>(?:\s++[^)\n]{{0,500}}+)?)\s*+\)"
_INLINE = re.compile(rf"(?P<image>!?)\[(?P<text>(?>(?:[^\[\]]++|\[[^\[\]]*+\])*))\]{_END}")
_OPENED = re.compile(rf"\](?=(?:{_END}|\(|:\s*+(?P<defined><[^<>\n]*+>?|\S*+)))")
"""What a client may take for the end of a link: `](...)`, one that is written otherwise, `]: address`."""
_BRACKET = re.compile(r"\\.|[\[\]]", re.DOTALL)
_REFERENCE = re.compile(
    rf"^(?P<head>[ >]{{0,12}}\[[^\]\n]+\]:)\s*+(?P<target>{_TARGET})[ \t]*+(?:[\"'(][^\n]*)?$", re.MULTILINE
)
_TAG = re.compile(
    r"<(?!(?:https?|ftp|mailto):[^\s<>]*>)"
    r"(?=/?[A-Za-z!][^<>]*[\s/\"'=][^<>]*>?|/?(?:script|style|iframe|img|svg|object|embed)\b)",
    re.IGNORECASE,
)
"""What opens an HTML tag that could fetch or run something; an address between angles is none."""
_BARE = re.compile(
    r"(?P<url>(?<![\w])(?:(?:https?|ftp|wss?|file|data|javascript|vbscript|slack|tel|sms|mailto):|//(?=[\w-]+\.)"
    r"|[a-z][a-z0-9+.-]{1,31}://)[^\s<>\"'`|\])]*|(?<=<)[a-z][a-z0-9+.-]{1,31}:[^\s<>]*(?=>)"
    r"|(?<![^\W_])(?<![.@/-])www\.[^\s<>\"'`|\])]+)"
    r"(?P<more>(?=[\"'`|\])][^\w\s<>]{0,99}+\w))?",
    re.IGNORECASE,
)
ROUNDS = 8
_TRAILING = ".,;:!?*_~"
_INVISIBLE = re.compile("[\u200b\u200e\u200f\u2060-\u2064\ufeff\U000e0000-\U000e007f]")
"""Characters that show nothing and can carry text."""


@dataclass(frozen=True, kw_only=True)
class Sanitised:
    """An answer that reaches out to nothing unknown."""

    text: str
    removed: tuple[str, ...] = ()
    """Hosts (or schemes) of what was taken out, in order."""


def sanitised(
    markdown: str, *, known: Iterable[str], hosts: Sequence[str] = (), results: Iterable[tuple[str, str]] = ()
) -> Sanitised:
    """The answer as it may leave.

    `known`: texts whose addresses may be repeated whole. `hosts`: names, and `*.x.example` for all below. `results`:
    what tools returned, each with what the model had put into its calls by then: an address that it wrote itself and a
    tool gave back is its own word still.
    """
    removed: list[str] = []
    sources = "\n".join(known) if "/" in markdown or ":" in markdown else ""
    told = [(said, _folded(own)) for said, own in results]

    @cache
    def is_known(address: str) -> bool:
        if _stands(address, sources):
            return True
        folded = _folded(address)
        return any(folded not in own and _stands(address, said) for said, own in told)

    def may_show(target: str, *, is_image: bool) -> bool:
        address = _address(target)
        return _is_listed(address, hosts) or (not is_image and is_known(address))

    def inline(match: re.Match[str]) -> str:
        target, text = match["target"], match["text"]
        if not target or target.startswith("#") or may_show(target, is_image=bool(match["image"])):
            return match[0]
        removed.append(_host(target))
        return f"{text} ({_gone(target)})" if text.strip() else _gone(target)

    def reference(match: re.Match[str]) -> str:
        # One definition may serve an image, which is fetched by itself.
        if may_show(match["target"], is_image=True):
            return match[0]
        removed.append(_host(match["target"]))
        return f"{match['head'].strip(' >[]:')}: {_gone(match['target'])}"

    def once(text: str) -> str:
        text = _REFERENCE.sub(reference, _TAG.sub("‹", _again(_INLINE, inline, text)))
        return _TAG.sub("‹", _bare(text, may_show, removed))

    # Until nothing changes: what is taken out may leave something behind that reads as markup.
    text = _INVISIBLE.sub("", markdown)
    for _ in range(ROUNDS):
        before, text = text, once(text)
        if text == before:
            break
    return Sanitised(text=_opened(text, may_show), removed=tuple(removed))


def _again(pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str], text: str) -> str:
    """Until nothing changes: an image inside a link is a link inside a text only once it is taken out."""
    for _ in range(ROUNDS):
        after = pattern.sub(replace, text)
        if after == text:
            break
        text = after
    return text


def _bare(text: str, may_show: Callable[..., bool], removed: list[str]) -> str:
    kept = sorted(m.span("target") for pattern in (_INLINE, _REFERENCE) for m in pattern.finditer(text))

    def bare(match: re.Match[str]) -> str:
        start, end = match.span("url")
        at = bisect_right(kept, (start, len(text))) - 1
        if at >= 0 and end <= kept[at][1]:
            return match[0]  # judged where it stands as the target of a link
        url = match["url"].rstrip(_TRAILING)
        tail = match["url"][len(url) :]
        if may_show(url, is_image=False):
            # Clients read on behind a quote or a bracket: what follows must not become part of the address.
            return match[0] + ("" if match["more"] is None else " ")
        removed.append(_host(url))
        return _gone(url) + tail

    return _BARE.sub(bare, text)


def _opened(text: str, may_show: Callable[..., bool]) -> str:
    """Whatever else a client could read as a link or a definition is taken apart: the forms are more than we know."""
    images = _images(text)

    def apart(match: re.Match[str]) -> str:
        if match["defined"] is not None:
            is_harmless = not re.search(r"[/\\:]", _address(match["defined"]))
            return match[0] if is_harmless or may_show(match["defined"], is_image=True) else "] "
        target = match["target"]
        if target is not None and not (target and not target.startswith("#")):
            return match[0]
        is_image = images.get(match.start(), True)
        return match[0] if target and may_show(target, is_image=is_image) else "] "

    return _OPENED.sub(apart, text)


def _images(text: str) -> dict[int, bool]:
    """Of each closing bracket: whether its pair has the sign of an image. One without a pair is not listed."""
    found: dict[int, bool] = {}
    open_at: list[int] = []
    for match in _BRACKET.finditer(text):
        if match[0] == "[":
            open_at.append(match.start())
        elif match[0] == "]" and open_at:
            found[match.start()] = text.startswith("!", max(open_at.pop() - 1, 0))
    return found


def _address(target: str) -> str:
    return html.unescape(target.strip().strip("<>").strip())


def _folded(text: str) -> str:
    """As a tool may have changed it: another case, other forms of the same characters."""
    return unicodedata.normalize("NFKC", text).casefold()


def _stands(address: str, sources: str) -> bool:
    """Whole: not as the beginning of a longer one, which might be the harmless half of it."""
    if not address or len(address) > 2_000:
        return False
    at = sources.find(address)
    while at >= 0:
        after = sources[at + len(address) : at + len(address) + 1]
        if not re.match(r"[\w/?=&#%+~-]", after or " "):
            return True
        at = sources.find(address, at + 1)
    return False


def _is_listed(address: str, hosts: Sequence[str]) -> bool:
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").casefold()
    except ValueError:
        return False
    if parts.scheme not in ("http", "https") or "@" in parts.netloc or "\\" in address:
        return False
    return any(host == h.casefold() or (h.startswith("*.") and host.endswith(h[1:].casefold())) for h in hosts)


def _host(target: str) -> str:
    """What may still be said of it: nothing in which data could be hidden but a name to recognise it by."""
    address = unquote(_address(target))
    match = re.match(r"(?:[a-z][a-z0-9+.-]*:)?//(?:[^/?#@\s]*@)?(?P<host>[^/?#\s:]+)", address, re.IGNORECASE)
    labels = re.sub(r"[^\w.-]", "", match["host"] if match else "").casefold().split(".")
    return ".".join(labels[-2:])[:60]  # data is hidden in the labels before


def _gone(target: str) -> str:
    return f"address removed: {_host(target).replace('.', '[.]') or 'unreadable'}"
