"""From a question in Slack to its one reply, over real sockets (P4.4)."""

from __future__ import annotations

from typing import Any

from tests.slack.conftest import ANN, CLOSED, DIRECT, ROOM, Agent, Install, answering
from tests.slack.fake import BOT, FakeSlack
from ukai import store
from ukai.app import audit
from ukai.surfaces import slack


async def told(world: FakeSlack, app: slack.Slack, *bodies: dict[str, Any]) -> None:
    """Slack sends, we acknowledge, and everything is finished."""
    wanted = len(world.acked) + len(bodies)
    for body in bodies:
        await world.send(body)
    await world.heard(wanted)
    await app.deliveries.settled()


async def test_a_mention_is_answered_in_its_thread_with_the_words_of_the_answer(world: FakeSlack, install: Install):
    agent = Agent(says=answering("**Harbor** waits for security.\n\n- asked on 3 May [Call#harbor-12/turn/31]"))
    body = world.write(ROOM, "UANN", f"<@{BOT}> why has Harbor &amp; Co stalled?")

    async with install(agent) as app:
        await told(world, app, body)

    assert agent.asked[0][:2] == ("why has Harbor & Co stalled?", ANN)
    assert (
        world.seen(ROOM, body["event"]["ts"])
        == "Harbor waits for security.\n\n\u2022 asked on 3 May [Call#harbor-12/turn/31]"
    )
    assert world.statuses == ["reading your question", "searching records", ""]


async def test_nothing_is_acknowledged_before_it_is_saved(world: FakeSlack, install: Install, database: store.Database):
    body = world.write(ROOM, "UANN", "why?")

    async with install(Agent()) as app:
        await told(world, app, body)
        async with database.transaction() as tx:
            row = await tx.one("select state, question, parts::text, principal, outcome from delivery")

    assert row == ("done", "", "[]", ANN, "answered"), "and when it is done, its texts are with the run alone"


async def test_one_person_with_two_ids_is_one_principal(world: FakeSlack, install: Install):
    agent = Agent()

    async with install(agent) as app:
        await told(world, app, world.write(ROOM, "UANN", "one"), world.write(ROOM, "WANN", "two"))

    assert sorted(who for _, who, _ in agent.asked) == [ANN, ANN]
    assert world.calls.count("users.info") == 2


async def test_whoever_nobody_knows_is_told_so_alone_and_nothing_is_asked(
    world: FakeSlack, install: Install, database: store.Database
):
    agent = Agent()
    bodies = [world.write(ROOM, who, "what do we pay Ben?") for who in ("UNIX", "UMO", "UGHOST")]

    async with install(agent) as app:
        await told(world, app, *bodies)
        kept = await audit.latest(database)

    assert agent.asked == []
    assert sorted(e["user"] for e in world.ephemeral) == ["UGHOST", "UMO", "UNIX"]
    assert not any(m.get("user") == BOT for m in world.messages[ROOM])
    assert {(r.who, r.code) for r in kept} == {(f"slack:T1/{u}", "unknown_person") for u in ("UNIX", "UMO", "UGHOST")}


async def test_a_refusal_goes_to_the_asker_alone(world: FakeSlack, install: Install):
    body = world.write(ROOM, "UANN", "how much does Ben earn?")

    async with install(Agent(says=answering("That is not yours to read.", outcome="refused", is_private=True))) as app:
        await told(world, app, body)

    assert world.replies(ROOM, body["event"]["ts"]) == []
    assert [(e["user"], e["text"]) for e in world.ephemeral] == [("UANN", "That is not yours to read.")]


async def test_a_direct_message_needs_no_mention_and_the_thread_goes_on(world: FakeSlack, install: Install):
    agent = Agent()
    first = world.write(DIRECT, "UANN", "why has Harbor stalled?")
    root = first["event"]["ts"]

    async with install(agent) as app:
        await told(world, app, first)
        await told(world, app, world.write(DIRECT, "UANN", "and Lime?", thread=root))

    assert [text for text, _, _ in agent.asked] == ["why has Harbor stalled?", "and Lime?"]
    assert len(world.replies(DIRECT, root)) == 2


async def test_talk_that_is_not_for_us_is_left_alone(world: FakeSlack, install: Install):
    agent = Agent()
    talk = world.twin(world.write(ROOM, "UANN", "lunch?"))
    bot = world.write(ROOM, "UROBOT", "build failed")
    bot["event"]["bot_id"] = "B2"
    edited = world.write(DIRECT, "UANN", "x")
    edited["event"]["subtype"] = "message_changed"

    async with install(agent) as app:
        await told(world, app, talk, bot, edited)

    assert agent.asked == []


async def test_the_place_says_who_reads(world: FakeSlack, install: Install):
    agent = Agent()
    world.channel("CBOTS", ["UANN", "UROBOT"], is_private=True)
    places = [ROOM, CLOSED, "CSHARED", "CBOTS", DIRECT]

    async with install(agent, everybody=("group:employees",)) as app:
        for place in places:
            await told(world, app, world.write(place, "UANN", "who reads this?"))

    seen = [(p.kind, p.audience(ANN)) for _, _, p in agent.asked]
    assert seen == [
        ("public", (ANN, "group:employees")),
        ("private", (ANN, "ben@harbor.example")),
        ("shared", (ANN, "public")),
        ("private", (ANN, "public")),
        ("direct", (ANN,)),
    ]


async def test_prompts_are_offered_to_whoever_opens_our_messages(world: FakeSlack, install: Install):
    opened = {"type": "app_home_opened", "tab": "messages", "user": "UANN", "channel": DIRECT}

    async with install(Agent()) as app:
        await told(world, app, world.event(opened))

    assert [p["prompts"] for p in world.prompts] == [
        [{"title": "Weekly review", "message": "What changed in my accounts this week?"}]
    ]


async def test_what_people_think_of_an_answer_is_kept_and_the_last_word_counts(
    world: FakeSlack, install: Install, database: store.Database
):
    body = world.write(ROOM, "UANN", "why?")

    async with install(Agent()) as app:
        await told(world, app, body)
        button = world.replies(ROOM, body["event"]["ts"])[-1]["blocks"][-1]["elements"][0]
        for who, side in (("UANN", "positive_button"), ("UBEN", "positive_button"), ("UANN", "negative_button")):
            action = {"action_id": button["action_id"], "value": button[side]["value"], "action_ts": world.ts()}
            click = {"type": "block_actions", "team": {"id": "T1"}, "user": {"id": who}, "actions": [action]}
            await world.send(click | {"event_id": f"{who}{side}"}, kind="interactive")
        await world.heard(4)
        async with database.transaction() as tx:
            kept = await tx.fetch("select principal, value from feedback order by principal")

    assert kept == [(ANN, "down"), ("ben@harbor.example", "up")]
