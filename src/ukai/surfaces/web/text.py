"""An answer as markup: markdown without raw HTML, then cleaned, then its citations as links to the sources beside it.

Pictures are not shown at all: loading one would tell its server what stands in the address.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
_CITED = re.compile(r"\[([^\[\]<>\n]{1,600})\]")
_MARKDOWN = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])


def of(markdown: str, keys: Sequence[str], *, run_id: str) -> Markup:
    """`keys` are the sources in their order; `run_id` keeps anchors of several answers on one page apart."""
    cleaned = nh3.clean(
        _MARKDOWN.render(markdown),
        tags=TAGS,
        attributes={"a": {"href"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    anchors = {html.escape(key, quote=False): number for number, key in enumerate(keys, 1)}

    def link(match: re.Match[str]) -> str:
        names = [name.strip() for name in match[1].split(";")]
        if not any(name in anchors for name in names):
            return match[0]
        shown = [
            f'<a href="#source-{anchors[n]}-{html.escape(run_id)}" aria-label="source {anchors[n]}">{anchors[n]}</a>'
            if n in anchors
            else n
            for n in names
        ]
        return f"[{'; '.join(shown)}]"

    return Markup(_CITED.sub(link, cleaned))  # noqa: S704  (cleaned above)
