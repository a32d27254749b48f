"""The answer: the sentences of the evidence that answer best, quoted and cited, or the honest word that none does.

Three outcomes, in falling order of what the evidence carries: *found* (a sentence answers), *near* (the evidence is
about the things that were named, but no sentence matches outright: the answer says so before it quotes), *not found*.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ukai.kit import words
from ukai.llm.extractive import citation, evidence, names, sentences
from ukai.llm.extractive.rank import Asked, Candidate, Ranked, order
from ukai.llm.protocols import Embedder

NOTICE = "This answer was not written by a language model: it only quotes the evidence."
NEAR = "Not found outright in the evidence: no sentence answers this. The nearest ones are:"
NOT_FOUND = "Not found in the evidence."
AT_MOST = 4
"""Quotes in one answer."""
WITHIN = 0.9
"""How far below the best a quote may rank, in the unit of the mix."""

# Chosen on the tuning half of tests/llm/corpus.py and every second question of the sample company, for no false "found"
# rather than for most answers; what they do on the other halves: docs/design/extractive.md.
FOUND_COSINE = 0.54
FOUND_WORDS, FOUND_WORDS_COSINE = 0.4, 0.4
FOUND_FIELD_COSINE = 0.25
SHORTEST = 3
"""Words of a sentence that is worth quoting; a signature has fewer."""
NEAR_COSINES, NEAR_WITHIN, NEAR_PER_ITEM = 0.50, 0.25, 2
"""Of the cosine of the sentence and that of its whole item, added."""
FOUND_WORDS_ALONE, NEAR_WORDS_ALONE = 0.6, 0.3
"""Without an embedder."""

_QUANTITY = re.compile(
    r"^\W*when\b|\bhow (?:many|much|long|often|large|big|old|far)\b"
    r"|\b(?:which|what) (?:day|date|month|year|price|amount)\b",
    re.I,
)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|"
    r"ninety|hundred|thousand|million|half|dozen|never|no|once|twice|daily|weekly|monthly|yearly)\b",
    re.I,
)

NEAREST, ALSO, BEHIND = 10, 4, 3
"""Quotes where no sentence answers; beside sentences that do; behind each record that was read."""
CLOSE, BEHIND_WHAT = "Close to it:", "Behind"

Outcome = Literal["found", "near", "not_found"]


@dataclass(frozen=True, kw_only=True)
class Searched:
    """What one search returned, best first, as indexes into the items."""

    items: Sequence[int]
    after: evidence.Item | None = None
    """The record whose words were searched for; None: the question itself."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """Quotes under a line that says why they are there."""

    said: str
    quotes: tuple[citation.Quote, ...]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the evidence carries."""

    outcome: Outcome
    quotes: tuple[citation.Quote, ...] = ()
    parts: tuple[Part, ...] = ()
    """What stands below them."""
    unnamed: tuple[str, ...] = ()
    """Names in the question that no item mentions."""
    best_items: tuple[int, ...] = ()
    """Items in order of their best sentence, those without one last: what is worth reading further. None when the
    evidence does not even name what the question is about."""

    def text(self, *, failed: Sequence[str] = ()) -> str:
        """As it is shown. `failed`: tools whose part of the evidence is missing."""
        lines = [NOTICE]
        if self.outcome == "not_found":
            lines.append(NOT_FOUND)
        elif self.outcome == "near":
            lines.append(NEAR)
        if self.unnamed:
            lines.append("It never mentions " + ", ".join(f"“{citation.quotable(n)}”" for n in self.unnamed) + ".")
        lines = [" ".join(lines), *(citation.line(quote) for quote in self.quotes)]
        for part in self.parts:
            lines += ["", part.said, *(citation.line(quote) for quote in part.quotes)]
        if failed:
            lines.append("These calls failed, and what they would have returned is missing: " + ", ".join(failed) + ".")
        return "\n".join(lines)


def outcome_of(text: str) -> Outcome:
    """The outcome that an answer of this model states."""
    first = text.partition("\n")[0].removeprefix(NOTICE).strip()
    return "not_found" if first.startswith(NOT_FOUND) else "near" if first.startswith(NEAR) else "found"


def answer(
    question: str,
    items: Sequence[evidence.Item],
    *,
    embedder: Embedder | None,
    searched: Sequence[Searched] = (),
) -> Answer:
    """What `items` say to `question`. The same arguments give the same answer, to the byte.

    `searched`: what the searches returned, in their order; where no sentence answers, that order is the better judge.
    """
    asked = Asked.of(question)
    unnamed = tuple(names.missing(asked.names, " ".join(item.everything for item in items)))
    every = list(candidates(asked, items))
    ranked = order(asked, every, items, embedder=embedder)
    best_items = tuple(dict.fromkeys([*(r.candidate.item for r in ranked), *range(len(items))]))
    if not words.words(question) or (unnamed and len(unnamed) == len(asked.names)):
        return Answer(outcome="not_found", unnamed=unnamed)
    if not ranked:
        return Answer(outcome="not_found", best_items=best_items)
    outcome, chosen = _chosen(asked, ranked, has_embedder=embedder is not None)
    if unnamed and outcome == "found":
        outcome = "near"
    shown = [r.candidate for r in chosen]
    parts: list[Part] = []
    if outcome == "found":
        shown[1:1] = _following(shown[0], every)
    first = next((s for s in searched if s.after is None), None)
    if outcome == "near" or (outcome == "found" and first is not None):
        best = _best_of_items(ranked)
        seen = {c.item for c in shown} if outcome == "found" else set[int]()
        limit = ALSO if outcome == "found" else NEAREST
        also = _in_order(first.items if first else (), best, seen, limit)
        if outcome == "near":
            shown = also or shown
            parts = [p for s in searched if s.after is not None for p in _trail(s, best, items, shown)]
        elif also:
            parts = [Part(said=CLOSE, quotes=_quotes(also, items))]
    return Answer(
        outcome=outcome,
        quotes=_quotes(shown, items),
        parts=tuple(parts),
        unnamed=unnamed,
        best_items=best_items,
    )


def _quotes(shown: Sequence[Candidate], items: Sequence[evidence.Item]) -> tuple[citation.Quote, ...]:
    """As quotes, each once. A field is cited as the field."""
    found = [
        citation.Quote(
            text=citation.quotable(c.text),
            cite=f"{items[c.item].cite}/{c.label}" if c.label and items[c.item].handle else items[c.item].cite,
        )
        for c in shown
    ]
    return tuple(dict.fromkeys(found))


def _best_of_items(ranked: Sequence[Ranked]) -> dict[int, Candidate]:
    """Of each item that is about the names asked for, the sentence nearest to the question."""
    best: dict[int, Ranked] = {}
    most = max((r.named for r in ranked), default=0.0)
    for r in ranked:
        before = best.get(r.candidate.item)
        if r.candidate.label and not r.candidate.is_field and r.cosine < FOUND_FIELD_COSINE:
            continue  # a field that the question neither names nor means
        if r.named == most and (before is None or _nearness(r) > _nearness(before)):
            best[r.candidate.item] = r
    return {item: r.candidate for item, r in best.items()}


def _nearness(r: Ranked) -> tuple[bool, bool, float, float]:
    return r.candidate.is_asked_for, r.candidate.is_field, r.cosine, r.covered


def _in_order(order: Sequence[int], best: Mapping[int, Candidate], seen: set[int], limit: int) -> list[Candidate]:
    found = [best[i] for i in order if i in best and i not in seen]
    return found[:limit]


def _trail(
    searched: Searched, best: Mapping[int, Candidate], items: Sequence[evidence.Item], shown: Sequence[Candidate]
) -> list[Part]:
    """What lies behind a record that was read: the first new finds of its search, the record itself left out."""
    source = searched.after
    assert source is not None
    own = {i for i, item in enumerate(items) if item.cite.startswith(source.cite) or not item.texts}
    seen = {c.item for c in shown} | own
    found = _in_order(searched.items, best, seen, BEHIND)
    said = f"{BEHIND_WHAT} “{citation.quotable(source.title)}” [{source.cite}]:"
    return [Part(said=said, quotes=_quotes(found, items))] if found else []


def candidates(asked: Asked, items: Sequence[evidence.Item]) -> Iterator[Candidate]:
    """Everything that could be quoted: sentences of texts, and the `field: value` lines that the question touches."""
    wanted = words.terms(asked.bare)
    for index, item in enumerate(items):
        for text in item.texts:
            parts = sentences.split(text)
            for i, part in enumerate(parts):
                if len(words.words(part)) < SHORTEST:
                    continue
                around = " ".join([item.title, item.cite, *parts[max(0, i - 1) : i], *parts[i + 1 : i + 2]])
                yield Candidate(text=part, meant=part, around=around, item=index)
        for label, value in item.fields:
            spoken = label.replace("_", " ").replace(".", " ")
            label_words = words.terms(spoken)
            by_label = _touches(wanted, label_words)
            if by_label or not item.texts or _touches(wanted, words.terms(value)):
                yield Candidate(
                    text=f"{label}: {value}",
                    meant=f"{spoken}: {value}",
                    around=item.title,
                    item=index,
                    label=label,
                    is_field=by_label,
                    is_asked_for=by_label and all(_touches(wanted, [word]) for word in label_words),
                )


def _following(best: Candidate, every: Sequence[Candidate]) -> list[Candidate]:
    """The sentence behind the best one: where a text names a thing first, it often says the rest there."""
    after = every[every.index(best) + 1 :][:1]
    return [c for c in after if c.item == best.item and not best.label and not c.label]


def _touches(wanted: Sequence[str], line: Sequence[str]) -> bool:
    """Whether they share a word, or the root of one: `own` and `owner`, `renew` and `renewal`."""
    return any(
        a == b or (min(len(a), len(b)) >= 3 and abs(len(a) - len(b)) <= 3 and (a.startswith(b) or b.startswith(a)))
        for a in wanted
        for b in line
    )


def _chosen(asked: Asked, ranked: Sequence[Ranked], *, has_embedder: bool) -> tuple[Outcome, list[Ranked]]:
    answers = _answers if has_embedder else _answers_by_words
    found = [r for r in ranked if answers(r) and _has_the_kind(asked.question, r.candidate.text)]
    if found:
        return "found", [r for r in found if r.score >= found[0].score - WITHIN][:AT_MOST]
    most = max(r.named for r in ranked)
    about = [r for r in ranked if r.named == most and (r.candidate.is_field or not r.candidate.label)]
    near = _near(about or [r for r in ranked if r.named == most], has_embedder=has_embedder)
    return ("near", near) if near else ("not_found", [])


def _near(about: Sequence[Ranked], *, has_embedder: bool) -> list[Ranked]:
    """The best of what is about the names that were asked for, from several items."""

    def closeness(r: Ranked) -> float:
        return r.cosine + r.item_cosine if has_embedder else r.covered

    ordered = sorted(about, key=lambda r: -closeness(r))
    floor = NEAR_COSINES if has_embedder else NEAR_WORDS_ALONE
    if not ordered or closeness(ordered[0]) < floor:
        return []
    kept: list[Ranked] = []
    for r in ordered:
        of_item = sum(k.candidate.item == r.candidate.item for k in kept)
        if closeness(r) >= closeness(ordered[0]) - NEAR_WITHIN and of_item < NEAR_PER_ITEM:
            kept.append(r)
    return kept[:AT_MOST]


def _has_the_kind(question: str, text: str) -> bool:
    """A question for a quantity or a date is answered by nothing that has neither."""
    return not _QUANTITY.search(question) or _NUMBER.search(text) is not None


def _answers(r: Ranked) -> bool:
    if r.named < 1:
        return False
    if r.candidate.label:
        return r.candidate.is_asked_for and r.cosine >= FOUND_FIELD_COSINE
    return r.cosine >= FOUND_COSINE or (r.own >= FOUND_WORDS and r.cosine >= FOUND_WORDS_COSINE)


def _answers_by_words(r: Ranked) -> bool:
    return r.named == 1 and (r.own >= FOUND_WORDS_ALONE or r.candidate.is_asked_for)
