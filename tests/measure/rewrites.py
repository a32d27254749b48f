"""Rewrites of invented answers, of fourteen kinds, each with what a reader would say about it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

SUBJECTS = ("The pilot", "The renewal", "The rollout", "Onboarding", "The audit", "Procurement", "The migration")
SUBJECTS += ("Training", "The security review", "Billing", "The data export", "The integration", "The steering group")
VERBS = ("slipped to", "was moved to", "ends on", "was agreed for", "starts on", "is planned for", "closes on")
DAYS = ("3 March", "17 June", "9 October", "21 January", "12 May", "28 August", "5 November", "30 April")
PEOPLE = ("Ines Okafor", "Tom Reyes", "Mara Lindt", "Joe Tanaka", "Priya Nair", "Sam Whitlock", "Lena Fischer")
ROLES = ("finance", "legal", "the platform team", "their board", "the regional office", "support", "operations")
THINGS = (
    "invoice layout",
    "login page",
    "weekly report",
    "price list",
    "access request",
    "support queue",
    "backup job",
)
STATES = (
    "still waits for a decision",
    "works as expected",
    "was returned twice",
    "has no owner yet",
    "is being tested",
)
ACTS = ("asked for", "rejected", "praised", "postponed", "questioned", "approved", "forgot")
REASONS = ("because the budget is frozen", "after a long discussion", "without giving a reason", "during the last call")
REASONS += ("since the contact left", "in spite of two reminders")


@dataclass(frozen=True, kw_only=True)
class Made:
    """One rewrite, and what is true of it."""

    kind: str
    original: str
    marks: tuple[str, ...]
    text: str
    residue: bool = False
    collateral: frozenset[str] = field(default_factory=frozenset)
    """Which of missing, reworded, new."""
    quiet_loss: bool = False


def sentence(rng: random.Random) -> str:
    form = rng.randrange(4)
    if form == 0:
        return f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.choice(DAYS)} {rng.choice(REASONS)}."
    if form == 1:
        who = f"{rng.choice(PEOPLE)} of {rng.choice(ROLES)}"
        return f"{who} {rng.choice(ACTS)} the {rng.choice(THINGS)} {rng.choice(REASONS)}."
    if form == 2:
        count = rng.randrange(13, 990)
        return f"The {rng.choice(THINGS)} {rng.choice(STATES)}, and {count} people in {rng.choice(ROLES)} use it."
    cost = f"{rng.choice(SUBJECTS)} costs ${rng.randrange(20, 990)},000 a year"
    return f"{cost}, which {rng.choice(ROLES)} {rng.choice(ACTS)}."


def body(rng: random.Random) -> list[str]:
    found: list[str] = []
    while len(found) < rng.randrange(5, 10):
        new = sentence(rng)
        if new.split()[:3] not in [old.split()[:3] for old in found]:
            found.append(new)
    return found


def marked(rng: random.Random) -> tuple[str, str, str, str]:
    """A sentence with a phrase to mark, the phrase, the sentence as it should become, and a figure of the mark."""
    amount = rng.randrange(13, 95)
    who, thing = rng.choice(PEOPLE), rng.choice(THINGS)
    phrase = f"a discount of {amount} percent"
    original = f"We should offer {who} {phrase} to win the {thing} this quarter."
    becomes = f"We should ask {who} what would help to win the {thing} this quarter."
    return original, phrase, becomes, str(amount)


def paragraphs(sentences: list[str], rng: random.Random) -> str:
    at = rng.randrange(1, len(sentences))
    return " ".join(sentences[:at]) + "\n\n" + " ".join(sentences[at:])


def _make(
    kind: str, rng: random.Random, change: Callable[[list[str], int, random.Random], list[str]], **true: object
) -> Made:
    sentences = body(rng)
    original, phrase, becomes, _ = marked(rng)
    place = rng.randrange(len(sentences) + 1)
    before = [*sentences[:place], original, *sentences[place:]]
    after = [*sentences[:place], becomes, *sentences[place:]]
    split = rng.randrange(1, len(before))
    text = change(list(after), place, rng)
    return Made(
        kind=kind,
        original=" ".join(before[:split]) + "\n\n" + " ".join(before[split:]),
        marks=(phrase,),
        text=" ".join(text[:split]) + "\n\n" + " ".join(text[split:]),
        **true,  # type: ignore[arg-type]
    )


def clean(rng: random.Random) -> Made:
    return _make("clean", rng, lambda text, place, rng: text)


def reflowed(rng: random.Random) -> Made:
    """Only white space, quotes and letter case change."""
    made = _make("reflowed", rng, lambda text, place, rng: text)
    return Made(
        kind="reflowed",
        original=made.original,
        marks=made.marks,
        text=made.text.replace("\n\n", "\n\n\n").replace(" the ", "  the "),
    )


def words_survive(rng: random.Random) -> Made:
    return _residue(rng, "words")


def figure_survives(rng: random.Random) -> Made:
    return _residue(rng, "figure")


def figure_in_words(rng: random.Random) -> Made:
    return _residue(rng, "spelled")


_SPELLED = {
    20: "twenty",
    30: "thirty",
    40: "forty",
    50: "fifty",
    60: "sixty",
    70: "seventy",
    80: "eighty",
    90: "ninety",
}
_UNITS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def _residue(rng: random.Random, how: str) -> Made:
    sentences = body(rng)
    amount = rng.choice([n for n in range(21, 99) if n % 10])
    who, thing = rng.choice(PEOPLE), rng.choice(THINGS)
    phrase = f"a discount of {amount} percent"
    original = f"We should offer {who} {phrase} to win the {thing} this quarter."
    spelled = f"{_SPELLED[amount // 10 * 10]}-{_UNITS[amount % 10]}"
    becomes = {
        "words": f"We could later offer {who} {phrase} on the {thing}.",
        "figure": f"We should talk to {who} about going down by {amount}% for the {thing} this quarter.",
        "spelled": f"We should talk to {who} about {spelled} percent less for the {thing} this quarter.",
    }[how]
    place = rng.randrange(len(sentences) + 1)
    return Made(
        kind={"words": "words_survive", "figure": "figure_survives", "spelled": "figure_in_words"}[how],
        original=" ".join([*sentences[:place], original, *sentences[place:]]),
        marks=(phrase,),
        text=" ".join([*sentences[:place], becomes, *sentences[place:]]),
        residue=True,
    )


def untouched(rng: random.Random) -> Made:
    """The rewrite gave the text back as it was."""
    made = _make("untouched", rng, lambda text, place, rng: text)
    return Made(kind="untouched", original=made.original, marks=made.marks, text=made.original, residue=True)


def _other(text: list[str], place: int, rng: random.Random, *, apart: bool = False) -> int:
    near = {place, place - 1, place + 1} if apart else {place}
    return rng.choice([i for i in range(len(text)) if i not in near])


def dropped(rng: random.Random) -> Made:
    def change(text: list[str], place: int, rng: random.Random) -> list[str]:
        del text[_other(text, place, rng)]
        return text

    return _make("dropped", rng, change, collateral=frozenset({"missing"}))


def added(rng: random.Random) -> Made:
    def change(text: list[str], place: int, rng: random.Random) -> list[str]:
        text.insert(
            rng.randrange(len(text) + 1),
            f"Nobody has asked {rng.choice(('the works council', 'our auditors', 'the landlord'))} so far.",
        )
        return text

    return _make("added", rng, change, collateral=frozenset({"new"}))


def reworded(rng: random.Random) -> Made:
    """One word of an unmarked sentence is another."""

    def change(text: list[str], place: int, rng: random.Random) -> list[str]:
        i = _other(text, place, rng)
        words = text[i].split()
        k = rng.randrange(1, len(words) - 1)
        words[k] = rng.choice(("evidently", "maybe", "hardly"))
        text[i] = " ".join(words)
        return text

    return _make("reworded", rng, change, collateral=frozenset({"reworded"}))


def figure_changed(rng: random.Random) -> Made:
    """A digit of an unmarked sentence is another."""

    def change(text: list[str], place: int, rng: random.Random) -> list[str]:
        numbered = [i for i in range(len(text)) if i != place and any(c.isdigit() for c in text[i])]
        if not numbered:
            text.append("The pilot has 314 users.")
            return text
        i = rng.choice(numbered)
        k = next(k for k, c in enumerate(text[i]) if c.isdigit())
        text[i] = text[i][:k] + str(int(text[i][k]) % 9 + 1) + text[i][k + 1 :]
        return text

    made = _make("figure_changed", rng, change, collateral=frozenset({"reworded"}))
    if "The pilot has 314 users." in made.text:
        return figure_changed(rng)
    return made


def two_faults(rng: random.Random) -> Made:
    """One sentence gone and another reworded."""

    def change(text: list[str], place: int, rng: random.Random) -> list[str]:
        first = _other(text, place, rng)
        words = text[first].split()
        words[len(words) // 2] = "allegedly"
        text[first] = " ".join(words)
        second = rng.choice([i for i in range(len(text)) if i not in (place, first)])
        del text[second]
        return text

    return _make("two_faults", rng, change, collateral=frozenset({"missing", "reworded"}))


def moved(rng: random.Random) -> Made:
    """Nothing is lost: two neighbours changed places."""

    def change(text: list[str], place: int, rng: random.Random) -> list[str]:
        free = [i for i in range(len(text) - 1) if place not in (i, i + 1)]
        i = rng.choice(free)
        text[i], text[i + 1] = text[i + 1], text[i]
        return text

    return _make("moved", rng, change)


def lost(rng: random.Random) -> Made:
    """The marked sentence is simply gone."""

    def change(text: list[str], place: int, rng: random.Random) -> list[str]:
        del text[place]
        return text

    return _make("lost", rng, change, quiet_loss=True)


def split(rng: random.Random) -> Made:
    """The marked sentence became two."""

    def change(text: list[str], place: int, rng: random.Random) -> list[str]:
        first, _, rest = text[place].partition(" what would help ")
        return [*text[:place], f"{first} for an opinion.", f"We should do what would help {rest}", *text[place + 1 :]]

    return _make("split", rng, change)


KINDS: tuple[Callable[[random.Random], Made], ...] = (
    clean, reflowed, words_survive, figure_survives, figure_in_words, untouched, dropped, added, reworded,
    figure_changed, two_faults, moved, lost, split,
)  # fmt: skip


def made(count: int, seed: int = 1) -> list[Made]:
    """`count` rewrites, the kinds in turn; the same for the same numbers."""
    rng = random.Random(seed)
    return [KINDS[i % len(KINDS)](rng) for i in range(count)]
