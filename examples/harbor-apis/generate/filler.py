"""Ordinary business of two years: calls, mails, tickets and notes out of templates, different for every account."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from . import cast, texts

MONTHS = texts.words("months")
WEEKDAYS = texts.words("weekdays")
PARTNERS = texts.words("partners")
ENDPOINTS = {
    "logistics": ("/bookings", "/customs", "/positions", "/labels"),
    "food": ("/orders", "/lots", "/prices", "/deliveries"),
    "banking": ("/payments", "/accounts", "/consents", "/callbacks"),
    "insurance": ("/quotes", "/claims", "/policies", "/brokers"),
    "retail": ("/stock", "/returns", "/points", "/reservations"),
    "health": ("/appointments", "/results", "/orders", "/referrals"),
    "media": ("/articles", "/scores", "/images", "/licences"),
    "energy": ("/readings", "/tariffs", "/switches", "/outages"),
    "travel": ("/fares", "/seats", "/timetable", "/rides"),
    "software": ("/filings", "/feeds", "/documents", "/users"),
    "manufacturing": ("/parts", "/missions", "/certificates", "/warranty"),
    "telecom": ("/porting", "/roaming", "/numbers", "/usage"),
    "public": ("/permits", "/sensors", "/parking", "/meters"),
    "education": ("/courses", "/rooms", "/outputs", "/people"),
    "events": ("/seatmaps", "/tickets", "/resale", "/venues"),
}
FEATURES = (
    "composition of answers",
    "quotas by group",
    "the new policy editor",
    "monthly reports by mail",
    "audiences in the portal",
    "the delivery view",
    "comparison of environments",
    "short-lived credentials",
    "examples in Kotlin",
    "the purge by tag",
)
ACTIONS = (
    "we raise the burst on {endpoint}",
    "you send us the description of {endpoint}",
    "Ravi looks at the trace of {endpoint}",
    "{colleague} checks the alarms",
    "we move {partner} into a group of its own",
    "you name a contact at {partner}",
    "we repeat the load test in {month}",
    "{colleague} tries the sandbox",
)
LANGUAGES = ("Python", "Java", "Go", "Kotlin", "Ruby", "Polish", "Norwegian", "Portuguese")
RELEASES = ("3.9", "4.0", "4.1", "4.2", "4.3")
COUNTS = ("two", "three", "four", "five", "six")


class Desk:
    """Draws words for one account."""

    def __init__(self, made: cast.Account, people: Sequence[cast.Contact], rng: random.Random) -> None:
        self.made, self.people, self.random = made, people, rng.random
        self.voice = next(p for p in people if p.status == "active")
        """Whom the vendor talks to as a rule."""
        self.others = [p for p in people if not p.is_planted and p is not self.voice]
        self.first = self.voice.name.partition(" ")[0]
        self.colleagues = [p.name.partition(" ")[0] for p in self.others]
        self.endpoints = ENDPOINTS[made.industry]
        start = int(self.random() * len(PARTNERS))
        self.partners = [PARTNERS[(start + 6 * i) % len(PARTNERS)] for i in range(5)]

    def pick(self, options: Sequence[Any]) -> Any:
        return options[int(self.random() * len(options))]

    def slots(self) -> dict[str, Any]:
        """Fresh words for one topic."""
        draw, pick = self.random, self.pick
        ms = 80 + int(draw() * 320)
        found: dict[str, Any] = {
            "first": self.first,
            "colleague": pick(self.colleagues),
            "endpoint": pick(self.endpoints),
            "partner": pick(self.partners),
            "vendor": self.made.seller.partition(" ")[0],
            "industry": self.made.industry,
            "month": pick(MONTHS),
            "weekday": pick(WEEKDAYS),
            "day": 4 + int(draw() * 17),
            "n": 8 + int(draw() * 190),
            "count": pick(COUNTS),
            "pct": 3 + int(draw() * 38),
            "limit": 100 + 50 * int(draw() * 38),
            "ms": ms,
            "ms2": ms + 60 + int(draw() * 900),
            "minutes": 15 + 5 * int(draw() * 8),
            "hour": f"{int(draw() * 24):02}:{5 * int(draw() * 12):02}",
            "status": pick((400, 408, 413, 415, 429, 502, 503, 504)),
            "daypart": pick(("morning", "afternoon")),
            "feature": pick(FEATURES),
            "language": pick(LANGUAGES),
            "release": pick(RELEASES),
            "order": 40000 + int(draw() * 50000),
            "word": pick(("trace", "tenant", "basket", "batch", "branch", "route")),
            "reqid": f"{int(draw() * 16**8):08x}",
        }
        first = int(draw() * len(ACTIONS))
        found["action"] = ACTIONS[first].format_map(found)
        found["action2"] = ACTIONS[(first + 1 + int(draw() * 6)) % len(ACTIONS)].format_map(found)
        return found

    def days(self, count: int, taken: set[date], until: date) -> list[date]:
        """Different working days of two years, in order; `taken` grows."""
        found: list[date] = []
        while len(found) < count:
            day = until - timedelta(days=8 + int(self.random() * 710))
            day -= timedelta(days=max(0, day.weekday() - 4))
            if day not in taken:
                taken.add(day)
                found.append(day)
        return sorted(found)


def turns(desk: Desk, engineer: str) -> list[tuple[str, str]]:
    """A call: an opening, some topics, an end, as (speaker, text)."""
    opening, *topics, closing = texts.templates("calls.txt")
    voices = {"V": desk.made.seller, "E": engineer, "C": desk.voice.name, "D": desk.others[-1].name}
    start, step = int(desk.random() * len(topics)), 1 + int(desk.random() * 6)
    chosen = [topics[(start + step * i) % len(topics)] for i in range(3 + int(desk.random() * 2))]
    return [
        (voices[speaker], desk.pick(lines).format_map(slots))
        for topic in (opening, *chosen, closing)
        for slots in (desk.slots(),)
        for speaker, lines in topic.lines
    ]


def mail(desk: Desk, template: texts.Template) -> tuple[bool, str, str]:
    """A mail: whether it comes from the customer, its subject and body."""
    slots = desk.slots()
    way, _, subject = template.head.partition(" ")
    paragraphs = [desk.pick(lines).format_map(slots) for _, lines in template.lines]
    return way == "in", subject.format_map(slots), "\n\n".join(paragraphs)


def ticket(desk: Desk, template: texts.Template) -> tuple[str, str, str, str, list[tuple[str, str]]]:
    """A ticket: product, priority, subject, body, and comments as (S or C, text)."""
    slots = desk.slots()
    product, priority, subject = template.head.split(" ", 2)
    (_, body), *rest = template.lines
    said = [(speaker, desk.pick(lines).format_map(slots)) for speaker, lines in rest]
    return product, priority, subject.format_map(slots), desk.pick(body).format_map(slots), said


def note(desk: Desk, template: texts.Template) -> tuple[str, str]:
    """A note: title and body."""
    slots = desk.slots()
    (_, lines), *_ = template.lines
    return template.head.format_map(slots), desk.pick(lines).format_map(slots)
