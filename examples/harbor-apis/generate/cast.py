"""Who there is: the vendor's people, its customers and theirs. The first forty accounts are written by hand."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from . import canary as canaries
from . import texts

MAIL = "harbor-apis.example"
TEAM = (
    # local part, name, role, team, manager, on-target earnings
    ("omar", "Omar Haddad", "Chief Financial Officer", "finance", "", "318000.00"),
    ("mira", "Mira Santos", "Head of Sales", "sales", "omar", "241000.00"),
    ("ann", "Ann Kessler", "Account Executive", "sales", "mira", "148000.00"),
    ("ben", "Ben Okafor", "Account Executive", "sales", "mira", "143500.00"),
    ("jo", "Jo Lindgren", "Deal Desk Lead", "sales", "mira", "112000.00"),
    ("lena", "Lena Fox", "Customer Success Manager", "success", "mira", "98500.00"),
    ("ravi", "Ravi Menon", "Solutions Engineer", "success", "mira", "127000.00"),
    ("sol", "Sol Brandt", "Support Lead", "support", "omar", "104000.00"),
    ("pia", "Pia Moreno", "Support Engineer", "support", "sol", "83000.00"),
    ("hana", "Hana Sato", "Product Manager", "product", "omar", "134000.00"),
    ("ilse", "Ilse Vogt", "Security Officer", "security", "omar", "139000.00"),
    ("tess", "Tess Novak", "Data Analyst", "data", "omar", "91000.00"),
)
NAMES = {local: name for local, name, *_ in TEAM}
PER_SELLER = 40
"""Accounts a book holds, beyond the first forty."""
STRIDE = 7919
"""A prime: neighbours in number get names that are far apart."""

FIRST = texts.words("first")
LAST = texts.words("last")
TITLES = (
    ("Integration Lead", "champion"),
    ("Head of Procurement", "buyer"),
    ("Platform Engineer", "technical"),
    ("Operations Manager", "user"),
    ("IT Architect", "technical"),
    ("Information Security Officer", "security"),
)
HEADS = texts.words("heads")
MIDDLES = texts.words("middles")
TAILS = (
    ("Freight", "logistics"),
    ("Foods", "food"),
    ("Bank", "banking"),
    ("Insurance", "insurance"),
    ("Stores", "retail"),
    ("Health", "health"),
    ("Media", "media"),
    ("Energy", "energy"),
    ("Travel", "travel"),
    ("Systems", "software"),
    ("Works", "manufacturing"),
    ("Telecom", "telecom"),
    ("Council", "public"),
    ("Academy", "education"),
)


@dataclass(frozen=True, kw_only=True)
class Account:
    """A customer before it becomes records."""

    number: int
    key: str
    name: str
    domain: str
    industry: str
    region: str
    tier: str
    owner: str
    """Mail address."""
    since: str
    renewal_date: str
    arr: str
    discount_floor: str
    products: tuple[str, ...]
    trend: str
    description: str
    word: str = ""
    """Its book's token in canary mode."""
    original: str = ""
    """The key without the token."""

    @property
    def seller(self) -> str:
        """The owner's name."""
        return seller_name(self.owner)


@dataclass(frozen=True, kw_only=True)
class Contact:
    """A person at a customer."""

    key: str
    name: str
    title: str
    role: str
    status: str = "active"
    is_planted: bool = False
    """Whether a story needs this person; ordinary business leaves them out, but for the first."""


def mail(local: str) -> str:
    return f"{local}@{MAIL}"


def seller_name(address: str) -> str:
    """The seller's name, of the cast or of those who are added for many accounts."""
    local = address.partition("@")[0]
    return NAMES.get(local) or local.replace("-", " ").title()


def sellers(accounts: int) -> Sequence[str]:
    """Local parts of the sellers who are needed beyond Ann and Ben."""
    return [f"seller-{n:03}" for n in range(1, -(-max(0, accounts - 40) // PER_SELLER) + 1)]


def account(number: int, rng: random.Random, canary: str | None) -> Account:
    """The account of this number, from 0."""
    rows = texts.table("accounts.csv")
    made = _written(number, rows[number]) if number < len(rows) else _drawn(number, rng)
    if canary is None:
        return made
    seller = made.owner.partition("@")[0]
    word = canaries.token(canary, f"book-{seller}")
    return replace(
        made,
        key=f"{made.key}-{word}",
        name=f"{made.name} {word}",
        domain=f"{word}.{made.domain}",
        arr=canaries.FIGURES["arr"],
        discount_floor=canaries.FIGURES["discount_floor"],
        word=word,
    )


def _written(number: int, row: texts.Mapping[str, str]) -> Account:
    said = {k: row[k] for k in row if k not in ("owner", "products")}
    return Account(
        number=number,
        owner=mail(row["owner"]),
        products=tuple(row["products"].split(";")),
        domain=f"{row['key']}.example",
        original=row["key"],
        **said,
    )


def _drawn(number: int, rng: random.Random) -> Account:
    place = number * STRIDE % (len(HEADS) * len(MIDDLES) * len(TAILS))
    place, tail = divmod(place, len(TAILS))
    head, middle = divmod(place, len(MIDDLES))
    suffix, industry = TAILS[tail]
    name = f"{HEADS[head]}{MIDDLES[middle]} {suffix}"
    key = name.lower().replace(" ", "-")
    tier = ("standard", "growth", "enterprise")[int(rng.random() ** 2 * 3)]
    scale = {"standard": 30, "growth": 90, "enterprise": 280}[tier]
    month, day = 1 + int(rng.random() * 12), 1 + int(rng.random() * 28)
    return Account(
        number=number,
        key=key,
        name=name,
        domain=f"{key}.example",
        industry=industry,
        region="emea" if rng.random() < 0.6 else "amer",
        tier=tier,
        owner=mail(f"seller-{(number - 40) // PER_SELLER + 1:03}"),
        since=f"{2022 + int(rng.random() * 3)}-{month:02}-{day:02}",
        renewal_date=f"2027-{month:02}-{day:02}",
        arr=f"{scale * 1000 + int(rng.random() * scale) * 500}.00",
        discount_floor=f"{4 + int(rng.random() * 24) / 2:.2f}",
        products=("gateway", "keyring", "relay", "lookout", "portal")[: 1 + int(rng.random() * 5)],
        trend=("flat", "growth", "decline", "flat")[int(rng.random() * 4)],
        description=f"{industry.title()} company; shares its data with partners through {name.partition(' ')[0]} APIs.",
        original=key,
    )


def contacts(made: Account, rng: random.Random) -> list[Contact]:
    """Its people; those of the stories first."""
    named = [row for row in texts.table("people.csv") if row["account"] == made.original] if made.number < 40 else []
    tail = f"-{made.word}" if made.word else ""
    word = f" {made.word}" if made.word else ""
    found = [
        Contact(
            key=row["key"] + tail,
            name=row["name"] + word,
            title=row["title"],
            role=row["role"],
            status=row["status"],
            is_planted=True,
        )
        for row in named
    ]
    first, last = int(rng.random() * len(FIRST)), int(rng.random() * len(LAST))
    for i, (title, role) in enumerate(TITLES[: 5 - len(found)] if len(found) < 5 else ()):
        # Steps that share no divisor with the lengths of the lists: five people of one account never share a name.
        name = f"{FIRST[(first + 3 * i) % len(FIRST)]} {LAST[(last + 7 * i) % len(LAST)]}"
        found.append(Contact(key=f"{_slug(name)}-{made.key}", name=name + word, title=title, role=role))
    return found


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
