"""A long answer as several messages: cut between blocks, inside a block between lines, then words; fences stay closed.

Limits: a section holds 3,000 characters and a message 50 blocks (Slack's documentation); above some 13,000 characters
a message is refused as `msg_blocks_too_long` (slackapi/bolt-js#2509).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ukai.surfaces.slack.mrkdwn import FENCE

SECTION = 2_900
MESSAGE = 11_000
SECTIONS = 40


def messages(blocks: Sequence[str]) -> list[list[str]]:
    """The sections of each message, in reading order. Nothing is lost; an empty answer has no message."""
    found: list[list[str]] = []
    size = 0
    for section in _sections(blocks):
        if not found or size + len(section) > MESSAGE or len(found[-1]) == SECTIONS:
            found.append([])
            size = 0
        found[-1].append(section)
        size += len(section)
    return found


def _sections(blocks: Sequence[str]) -> Iterator[str]:
    """Blocks side by side while they fit into one section."""
    held = ""
    for block in blocks:
        if held and len(held) + 2 + len(block) <= SECTION:
            held = f"{held}\n\n{block}"
            continue
        if held:
            yield held
        *full, held = _pieces(block)
        yield from full
    if held:
        yield held


def _pieces(block: str) -> list[str]:
    """One block, cut where it is longer than a section."""
    if len(block) <= SECTION:
        return [block]
    if block.startswith(f"{FENCE}\n") and block.endswith(f"\n{FENCE}"):
        inner = block[len(FENCE) + 1 : -len(FENCE) - 1]
        return [f"{FENCE}\n{piece}\n{FENCE}" for piece in _cut(inner, SECTION - 2 * len(FENCE) - 2)]
    return _cut(block, SECTION)


def _cut(text: str, limit: int) -> list[str]:
    pieces: list[str] = []
    while len(text) > limit:
        at = _place(text, limit)
        pieces.append(text[:at].rstrip("\n"))
        text = text[at:].removeprefix("\n") if text[at : at + 1] == "\n" else text[at:]
    return [*pieces, text] if text else pieces


def _place(text: str, limit: int) -> int:
    """Behind a line, a sentence or a word, in the second half; else anywhere but inside an entity or a link."""
    half = limit // 2
    for sign in ("\n", ". ", " "):
        at = text.rfind(sign, half, limit)
        if at > 0 and not _is_inside(text, at):
            return at + len(sign.rstrip("\n"))
    at = limit
    start = max(text.rfind("&", at - 6, at), text.rfind("<", half, at) if _is_inside(text, at) else -1)
    return start if start > half and ";" not in text[start:at] else at


def _is_inside(text: str, at: int) -> bool:
    """Whether a link is open there: `<` and `>` stand for nothing else."""
    return text.rfind("<", 0, at) > text.rfind(">", 0, at)
