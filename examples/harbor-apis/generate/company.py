"""The whole company as a stream of records: the house first, then one account after the other."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal

from . import canary as canaries
from . import cast, filler, story, texts
from .records import Record, named, record

AS_OF = date(2026, 11, 20)
"""Today in the company's world."""
MONTHS = tuple(f"{2024 + (10 + i) // 12}-{(10 + i) % 12 + 1:02}" for i in range(24))
"""The two years of telemetry, from 2024-11 to 2026-10."""
CALLS_A_MONTH = {"standard": 240_000, "growth": 1_100_000, "enterprise": 4_700_000}
TEXTS = {"standard": (2, 10, 4, 3), "growth": (3, 13, 5, 4), "enterprise": (4, 16, 6, 5)}
"""Calls, mails, tickets and notes of an account by tier, beside those of the stories."""
MANY = 200
"""Above this many accounts a tenth of the texts is made, unless `density` says otherwise."""
STAGES = ("discovery", "qualification", "solution", "proposal")
NEXT_STEPS = (
    "Agree on success measures with {first}",
    "Meet {colleague}, who signs",
    "Send the proposal after the workshop on {feature}",
    "Load test together in {month}",
    "Ask {first} for an introduction to purchasing",
    "Collect the figures for {endpoint} and turn them into a page",
)
MEMOS = (
    "Standard terms with an annual payment. Exceptions go through Jo.",
    "The first year was below our cost of service; no further concession.",
    "Room for a longer term, none for the price.",
    "Reference customer, keep the structure as it is.",
)


def records(
    seed: int = 7, accounts: int = 40, canary: str | None = None, *, density: float | None = None
) -> Iterator[Record]:
    """Every record of the company, in an order in which each edge points at something already said.

    The same arguments give the same records, on any machine. Account n is the same however many there are. Memory does
    not grow with `accounts`. `density` scales the texts of each account (1.0 makes about 120 passages an account); the
    default is 1.0 up to 200 accounts and 0.1 beyond.
    """
    scale = density if density is not None else 1.0 if accounts <= MANY else 0.1
    yield from _team(accounts, canary)
    yield from story.lessons(canary)
    yield from story.product()
    yield from story.handbook(canary)
    for number in range(accounts):
        # A text as the seed: hashed by sha512, so no process's own hashing plays a part. Nothing here is a secret.
        yield from _account(number, random.Random(f"{seed}:{number}"), canary, scale)  # noqa: S311


def _team(accounts: int, canary: str | None) -> Iterator[Record]:
    extra = [
        (local, cast.seller_name(local), "Account Executive", "sales", "mira", "140000.00")
        for local in cast.sellers(accounts)
    ]
    for local, name, role, team, manager, pay in (*cast.TEAM, *extra):
        yield record(
            "Teammate",
            {
                "email": cast.mail(local),
                "name": name,
                "role": role,
                "team": team,
                "on_target_earnings": canaries.FIGURES["pay"] if canary else pay,
            },
            edges=[("reports_to", named("Teammate", cast.mail(manager)))] if manager else (),
            by="service:people",
            at="2024-11-20T08:00:00Z",
            source="people",
        )


def _account(number: int, rng: random.Random, canary: str | None, scale: float) -> Iterator[Record]:
    made = cast.account(number, rng, canary)
    people = cast.contacts(made, rng)
    desk = filler.Desk(made, people, rng)
    told = story.Told(made, people, canary) if number < len(texts.table("accounts.csv")) else None
    planted = list(told.records()) if told else []
    parts = (
        _customer(made, people, desk, rng),
        _terms(made, told, canary, rng),
        _usage(made, rng),
        planted,
        _talk(made, desk, rng, planted, scale),
    )
    for part in parts:
        for one in part:
            yield canaries.marked(one, made.word) if made.word else one


def _customer(
    made: cast.Account, people: list[cast.Contact], desk: filler.Desk, rng: random.Random
) -> Iterator[Record]:
    since = f"{made.since}T09:00:00Z"
    mine = named("Account", made.key)
    yield record(
        "Account",
        {
            "key": made.key,
            "name": made.name,
            "domain": made.domain,
            "industry": made.industry,
            "region": made.region,
            "tier": made.tier,
            "owner": made.owner,
            "csm": cast.mail("lena"),
            "since": made.since,
            "renewal_date": made.renewal_date,
            "arr": made.arr,
            "discount_floor": made.discount_floor,
            "products": list(made.products),
            "health": {"growth": "green", "flat": "green", "custom": "green", "decline": "amber"}[made.trend],
            "description": made.description,
        },
        edges=[("owned_by", named("Teammate", made.owner))],
        by=made.owner,
        at=since,
        source="crm",
    )
    for person in people:
        local = person.name.removesuffix(f" {made.word}").lower().replace(" ", ".")
        yield record(
            "Person",
            {
                "key": person.key,
                "name": person.name,
                "account": made.key,
                "email": f"{local}@{made.domain}",
                "title": person.title,
                "role": person.role,
                "status": person.status,
                "owner": made.owner,
            },
            edges=[("works_at", mine)],
            by=made.owner,
            at=since,
            source="crm",
        )
    yield from _opportunities(made, people, desk, rng)


def _opportunities(
    made: cast.Account, people: list[cast.Contact], desk: filler.Desk, rng: random.Random
) -> Iterator[Record]:
    edges = [("opportunity_of", named("Account", made.key)), ("primary_contact", named("Person", people[0].key))]
    year = made.renewal_date[:4]
    amount = Decimal(made.arr)
    yield record(
        "Opportunity",
        {
            "key": f"{made.key}-renewal-{year}",
            "name": f"{made.name} renewal {year}",
            "account": made.key,
            "kind": "renewal",
            "amount": made.arr if made.word else f"{amount * (100 + int(rng.random() * 12)) / 100:.2f}",
            "close_date": made.renewal_date,
            "outcome": "open",
            "next_step": desk.pick(NEXT_STEPS).format_map(desk.slots()),
        },
        state=STAGES[int(rng.random() * 4)],
        edges=edges,
        by=made.owner,
        at="2026-10-30T16:00:00Z",
        source="crm",
    )
    deals = texts.deals()
    start = int(rng.random() * len(deals))
    seen: set[tuple[str, date]] = set()
    for i in range(1 + int(rng.random() * 2)):
        outcome, kind, summary, factor = deals[(start + 7 * i) % len(deals)]
        closed = AS_OF - timedelta(days=30 + int(rng.random() * 660))
        while (kind, closed) in seen:  # two of a kind on one day would be one record
            closed -= timedelta(days=1)
        seen.add((kind, closed))
        yield record(
            "Opportunity",
            {
                "key": f"{made.key}-{kind}-{closed}",
                "name": f"{made.name} {kind} {closed.year}",
                "account": made.key,
                "kind": kind,
                "amount": made.arr if made.word else f"{amount * (10 + int(rng.random() * 50)) / 100:.2f}",
                "close_date": str(closed),
                "outcome": outcome,
                "summary": summary,
                "deciding_factor": factor,
            },
            state=outcome,
            edges=edges,
            by=made.owner,
            at=f"{closed}T16:00:00Z",
            source="crm",
        )


def _terms(made: cast.Account, told: story.Told | None, canary: str | None, rng: random.Random) -> Iterator[Record]:
    """What the deal desk knows, of enterprise customers."""
    if made.tier != "enterprise":
        return
    block = told.terms() if told else None
    amount = Decimal(made.arr)
    said: Mapping[str, str] = (
        block.said
        if block
        else {
            "list_price": f"{amount * 118 / 100:.2f}",
            "internal_margin": f"{18 + int(rng.random() * 220) / 10:.2f}",
            "walk_away_price": f"{amount * 86 / 100:.2f}",
        }
    )
    one = record(
        "Terms",
        {"account": made.key, **said, "memo": block.body if block else MEMOS[int(rng.random() * len(MEMOS))]},
        edges=[("terms_of", named("Account", made.key))],
        by=cast.mail("jo"),
        at="2026-09-01T10:00:00Z",
        source="deal-desk",
    )
    yield canaries.marked(one, canaries.token(canary, "terms")) if canary else one


def _usage(made: cast.Account, rng: random.Random) -> Iterator[Record]:
    known = (
        {row["month"]: row for row in texts.table("usage.csv") if row["account"] == made.original}
        if made.trend == "custom"
        else {}
    )
    draw = rng.random
    first = next(iter(known.values()), None)
    base = float(first["calls"]) * 0.9 if first else CALLS_A_MONTH[made.tier] * (0.6 + draw() * 0.8)
    slope = {"growth": 0.022, "decline": -0.025}.get(made.trend, 0.0)
    keys, p95, share = 4 + int(draw() * 44), 90 + int(draw() * 140), 0.0008 + draw() * 0.003
    mine = [("usage_of", named("Account", made.key))]
    for i, month in enumerate(MONTHS):
        row = known.get(month)
        calls = int(row["calls"]) if row else int(base * (1 + slope * i) * (0.96 + draw() * 0.08))
        errors = int(row["errors"]) if row else int(calls * share * (0.8 + draw() * 0.4))
        after = MONTHS[i + 1] if i + 1 < len(MONTHS) else "2026-11"
        yield record(
            "UsageMonth",
            {
                "account": made.key,
                "month": month,
                "calls": calls,
                "errors": errors,
                "error_rate": f"{errors * 100 / calls:.3f}",
                "active_keys": int(row["active_keys"]) if row else keys + int(draw() * 3) + int(slope * i * keys),
                "p95_ms": int(row["p95_ms"]) if row else p95 + int(draw() * 9),
            },
            edges=mine,
            by="service:meter",
            at=f"{after}-01T02:00:00Z",
            source="telemetry",
        )


def _talk(
    made: cast.Account,
    desk: filler.Desk,
    rng: random.Random,
    planted: list[Record],
    scale: float,
) -> Iterator[Record]:
    """Ordinary calls, mails, tickets and notes, on days that no planted record holds."""
    calls, mails, tickets, notes = (int(n * scale + rng.random() * (scale < 1)) for n in TEXTS[made.tier])
    taken = {_day(p) for p in planted if p["type"] in ("Call", "Mail")}
    person, vendor = desk.voice, made.seller
    for day in desk.days(calls, taken, AS_OF):
        start = datetime.combine(day, time(9 + int(rng.random() * 8), 30))
        title = desk.pick(("Regular call", "Technical call", "Monthly call", "Check-in")) + f" {day:%B %Y}"
        yield story.call(made, made.key, [person.key], title, start, filler.turns(desk, "Ravi Menon"))
    shapes = texts.templates("mails.txt")
    first = int(rng.random() * len(shapes))
    for i, day in enumerate(desk.days(mails, taken, AS_OF)):
        incoming, subject, body = filler.mail(desk, shapes[(first + 5 * i) % len(shapes)])
        pair = (person.name, vendor) if incoming else (vendor, person.name)
        at = datetime.combine(day, time(8 + int(rng.random() * 9), int(rng.random() * 60)))
        yield story.mail(made, pair[0], [pair[1]], subject, body, at, [person.key])
    yield from _tickets(made, desk, rng, tickets)
    topics = texts.templates("notes.txt")
    first = int(rng.random() * len(topics))
    held = {_day(p) for p in planted if p["type"] == "Note"}
    for i, day in enumerate(desk.days(notes, held, AS_OF)):
        title, body = filler.note(desk, topics[(first + 3 * i) % len(topics)])
        author = made.owner if rng.random() < 0.7 else cast.mail("lena")
        yield story.note(made, made.key, title, body, author, datetime.combine(day, time(17, 40)))


def _tickets(made: cast.Account, desk: filler.Desk, rng: random.Random, count: int) -> Iterator[Record]:
    shapes = texts.templates("tickets.txt")
    first = int(rng.random() * len(shapes))
    for i, day in enumerate(desk.days(count, set(), AS_OF)):
        product, priority, subject, body, said = filler.ticket(desk, shapes[(first + 4 * i) % len(shapes)])
        person = desk.pick((desk.voice, *desk.others))
        opened = datetime.combine(day, time(7 + int(rng.random() * 10), int(rng.random() * 60)))
        comments = [
            (
                "Pia Moreno" if who == "S" else person.name,
                f"{opened + timedelta(hours=3 + 20 * n):%Y-%m-%dT%H:%M:%SZ}",
                text,
            )
            for n, (who, text) in enumerate(said)
        ]
        state = "closed" if day < AS_OF - timedelta(days=60) else ("solved", "open", "pending")[int(rng.random() * 3)]
        facts = {"subject": subject, "body": body, "product": product, "priority": priority, "state": state}
        yield story.ticket(made, str(10_002 + made.number * 20 + i), opened, person, facts, comments)


def _day(made: Record) -> date:
    return date.fromisoformat(made["fields"]["at"][:10])
