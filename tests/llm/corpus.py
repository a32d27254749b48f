"""Thirty passages of an invented company and fifty questions about them, written before anything was tuned.

`kind`: `word` (the answer shares words with the question), `paraphrase` (it hardly does), `field` (a record's value),
`absent` (nothing answers it; half of them ask about something the passages never name). `half`: the threshold of the
extractive model was chosen on `tune` alone, `held` was only counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["word", "paraphrase", "field", "absent"]


@dataclass(frozen=True)
class Question:
    half: Literal["tune", "held"]
    kind: Kind
    ask: str
    answers: tuple[str, ...] = ()
    """A quote counts as right when it holds one of these."""


def _item(handle: str, title: str, text: str = "", **fields: str) -> dict[str, Any]:
    item: dict[str, Any] = {"handle": handle, "title": title}
    if text:
        item["text"] = text
    return item | ({"fields": fields} if fields else {})


PASSAGES: tuple[dict[str, Any], ...] = (
    _item(
        "Call#harbor-12/turn/31",
        "Harbor rollout call",
        "Mira Voss: We cannot go further until your security questionnaire is signed off. Our legal people want the "
        "data processing addendum first. Apart from that the depot teams like the scanner.",
    ),
    _item(
        "Call#harbor-12/turn/32",
        "Harbor rollout call",
        "Jon Abara: I will send the addendum by Friday. Shall we keep the pilot at two depots until then?",
    ),
    _item(
        "Call#harbor-9/turn/4",
        "Harbor quarterly review",
        "Mira Voss: The forklift drivers keep logging out because the gloves do not register on the screen.",
    ),
    _item(
        "Account#harbor",
        "Harbor Logistics",
        owner="Ann Keller",
        segment="enterprise",
        renewal_date="2027-03-31",
        seats="420",
        health="amber",
    ),
    _item(
        "Deal#harbor-expansion",
        "Harbor expansion",
        stage="security review",
        amount="184000 EUR",
        close_date="2026-12-18",
    ),
    _item(
        "Ticket#4411",
        "Scanner app crashes offline",
        "The Android app crashes when a depot loses its connection. A fix shipped in version 8.3 on 4 November. "
        "Larkspur Freight confirmed that it holds.",
    ),
    _item(
        "Ticket#4502",
        "Export times out",
        "Exports above fifty thousand rows time out after ten minutes. Splitting the range by week works meanwhile.",
    ),
    _item(
        "Ticket#4519",
        "Single sign-on loop",
        "Users of Brightwater end up in a redirect loop after single sign-on. Their identity provider sends the wrong "
        "audience. They have to change the audience to the production address.",
    ),
    _item(
        "Account#larkspur",
        "Larkspur Freight",
        owner="Devon Pike",
        segment="mid-market",
        renewal_date="2026-12-31",
        seats="95",
        health="green",
    ),
    _item(
        "Account#brightwater",
        "Brightwater Utilities",
        owner="Ann Keller",
        segment="enterprise",
        renewal_date="2027-09-30",
        seats="1200",
        health="red",
    ),
    _item(
        "Mail#brightwater-77",
        "Re: next steps",
        "Our board froze all new spending until the spring. I still want the meter module, so keep the quote open.",
    ),
    _item(
        "Call#larkspur-3/turn/12",
        "Larkspur check-in",
        "Pia Lund: Honestly, the new dashboard saves my dispatchers about an hour every morning.",
    ),
    _item(
        "Call#larkspur-3/turn/19",
        "Larkspur check-in",
        "Pia Lund: I am leaving at the end of the month. Tomas Reyes takes over the contract from me.",
    ),
    _item(
        "Deal#larkspur-renewal",
        "Larkspur renewal",
        "They asked for a three year term in exchange for a price hold.",
        stage="negotiation",
        amount="57000 EUR",
        close_date="2026-12-20",
    ),
    _item(
        "Deal#quillon-2025",
        "Quillon new business",
        "Lost to Ferrite because we had no on-premises option. The buyer said the price played no part.",
        stage="closed lost",
    ),
    _item(
        "Deal#ostrand-2025",
        "Ostrand new business",
        "Won after the warehouse manager ran the pilot herself and showed the board the saved hours.",
        stage="closed won",
    ),
    _item(
        "Doc#security-faq",
        "Security questions and answers",
        "Customer data is stored in Frankfurt and Dublin. Backups are kept for thirty days. We rotate encryption keys "
        "every ninety days. Penetration tests run twice a year.",
    ),
    _item(
        "Doc#pricing-2026",
        "Price book 2026",
        "The depot plan costs 31 EUR a seat and month. Discounts above ten percent need the approval of Helena Brandt.",
    ),
    _item(
        "Doc#onboarding",
        "Onboarding guide",
        "A new customer starts with one depot and ten devices. Training takes half a day. The go-live needs a signed "
        "acceptance form.",
    ),
    _item(
        "Doc#release-8.3",
        "Release notes 8.3",
        "Offline mode now queues scans for twelve hours. The glove mode enlarges every button. Known issue: exports of "
        "very large ranges are slow.",
    ),
    _item(
        "Person#mira-voss",
        "Mira Voss",
        role="head of operations",
        company="Harbor Logistics",
        prefers="phone calls before nine",
    ),
    _item("Person#tomas-reyes", "Tomas Reyes", role="procurement lead", company="Larkspur Freight"),
    _item(
        "Mail#harbor-201",
        "Budget for the second phase",
        "Our finance chief will only release the second phase once the first three depots report fewer mispicks. "
        "So far two of them do.",
    ),
    _item(
        "Call#ostrand-8/turn/2",
        "Ostrand success call",
        "Inga Dahl: Since the summer we have halved the number of parcels that go to the wrong truck.",
    ),
    _item(
        "Ticket#4533",
        "Invoice shows the wrong VAT number",
        "The invoice of October carries the VAT number of the Danish branch. Billing reissues it this week.",
    ),
    _item(
        "Doc#support-hours",
        "Support hours",
        "Support answers from seven to nineteen on working days. Priority one incidents are answered around the clock "
        "within thirty minutes.",
    ),
    _item(
        "Call#brightwater-5/turn/40",
        "Brightwater escalation",
        "Rolf Anders: If the login trouble is not gone by Christmas we will look at Ferrite again.",
    ),
    _item(
        "Doc#battlecard-ferrite",
        "Ferrite battlecard",
        "Ferrite sells an appliance that runs inside the customer's own network. Its mobile app needs a connection at "
        "all times. Their contracts renew automatically.",
    ),
    _item(
        "Deal#brightwater-meter",
        "Brightwater meter module",
        stage="on hold",
        amount="96000 EUR",
        next_step="call after the budget round",
    ),
    _item(
        "Doc#holidays",
        "Office closures",
        "The offices are closed from 24 December to 1 January. A skeleton crew handles incidents.",
    ),
)

QUESTIONS: tuple[Question, ...] = (
    Question("tune", "word", "Which version fixed the crash of the Android app?", ("version 8.3",)),
    Question("tune", "word", "Where is customer data stored?", ("Frankfurt",)),
    Question("tune", "word", "How long are backups kept?", ("thirty days",)),
    Question("tune", "word", "Who needs to approve discounts above ten percent?", ("Helena Brandt",)),
    Question("tune", "word", "What does the depot plan cost per seat?", ("31 EUR",)),
    Question("tune", "word", "Why did we lose the Quillon deal?", ("on-premises option",)),
    Question("tune", "word", "What causes the redirect loop at Brightwater?", ("wrong audience",)),
    Question("tune", "paraphrase", "Why has the Harbor rollout stalled?", ("security questionnaire", "addendum first")),
    Question("tune", "paraphrase", "Who will be our new contact at Larkspur?", ("Tomas Reyes takes over",)),
    Question("tune", "paraphrase", "What benefit does Larkspur see in the product?", ("saves my dispatchers",)),
    Question(
        "tune", "paraphrase", "Is Brightwater thinking about switching to a competitor?", ("look at Ferrite again",)
    ),
    Question("tune", "paraphrase", "What convinced Ostrand to buy?", ("ran the pilot herself",)),
    Question("tune", "paraphrase", "Why do the drivers at Harbor have trouble with the touchscreen?", ("gloves",)),
    Question("tune", "field", "What stage is the Harbor expansion in?", ("stage: security review",)),
    Question("tune", "field", "Who is the owner of the account Brightwater Utilities?", ("owner: Ann Keller",)),
    Question("tune", "field", "How many seats does Larkspur Freight have?", ("seats: 95",)),
    Question("tune", "field", "When does the Harbor Logistics renewal fall due?", ("renewal_date: 2027-03-31",)),
    Question("tune", "absent", "Why has the Zephyr rollout stalled?"),
    Question("tune", "absent", "What did Penelope Okafor say about pricing?"),
    Question("tune", "absent", "How many employees does Harbor Logistics have in Asia?"),
    Question("tune", "absent", "What is the salary of our sales director?"),
    Question("tune", "absent", "Do we support an integration with SAP?"),
    Question("tune", "absent", "Which hotel hosts the customer conference?"),
    Question("tune", "absent", "What colour is the Larkspur logo?"),
    Question("tune", "absent", "Who won the football match yesterday?"),
    Question("held", "word", "How often do we rotate encryption keys?", ("ninety days",)),
    Question("held", "word", "How long does training take for a new customer?", ("half a day",)),
    Question("held", "word", "When are the offices closed?", ("24 December",)),
    Question("held", "word", "What is wrong with the invoice of October?", ("Danish branch",)),
    Question("held", "word", "How long does offline mode queue scans?", ("twelve hours",)),
    Question("held", "word", "What does Ferrite sell?", ("appliance",)),
    Question("held", "word", "What happens with exports above fifty thousand rows?", ("time out after ten minutes",)),
    Question("held", "paraphrase", "What stops Brightwater from buying right now?", ("froze all new spending",)),
    Question("held", "paraphrase", "What must happen before Harbor pays for the next phase?", ("fewer mispicks",)),
    Question("held", "paraphrase", "Has Ostrand seen fewer delivery errors?", ("halved the number",)),
    Question("held", "paraphrase", "Can I reach somebody at night when production is down?", ("around the clock",)),
    Question(
        "held", "paraphrase", "Is there a workaround for slow downloads of big reports?", ("Splitting the range",)
    ),
    Question("held", "paraphrase", "What is the weakness of Ferrite's phone app?", ("needs a connection",)),
    Question("held", "field", "What is the amount of the Larkspur renewal?", ("amount: 57000 EUR",)),
    Question("held", "field", "What is the role of Mira Voss?", ("role: head of operations",)),
    Question("held", "field", "What is the next step of the Brightwater meter module?", ("next_step: call after",)),
    Question("held", "field", "What is the health of Larkspur Freight?", ("health: green",)),
    Question("held", "absent", "When does Meridian Foods renew?"),
    Question("held", "absent", "What did Oskar Lindqvist ask for?"),
    Question("held", "absent", "Which database does our backend run on?"),
    Question("held", "absent", "What is the phone number of Pia Lund?"),
    Question("held", "absent", "How do I cook risotto?"),
    Question("held", "absent", "Are we certified for ISO 27001?"),
    Question("held", "absent", "What is the parental leave policy?"),
    Question("held", "absent", "Who is the chief executive of Ostrand?"),
)
