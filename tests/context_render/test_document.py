"""What a document looks like, and what becomes of everything that is not in it (context req. 20-37)."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tests.context_render import build
from ukai.context import assembly, cut, levels, sections
from ukai.context.item import Item
from ukai.context.render import document, naming, templates

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
LONG = ("Ada Lovelace of Quillon", "Grace Hopper of Harbor")
ITEMS = st.integers(0, 2**32).map(lambda seed: world(random.Random(seed)))


def world(rng: random.Random) -> list[Item]:
    """Tables, families, pages and turns in any mixture."""
    items: list[Item] = []
    for n in range(rng.randrange(0, 6)):
        columns = [f"{rng.choice(WORDS)}_{k}" for k in range(rng.randrange(1, 60))]
        place = f"db{rng.randrange(2)}/s"
        items += build.table(f"t{n}", columns, place=place, score=rng.random())
        if rng.random() < 0.3:
            items += build.table(f"t{n}b", columns, place=place, score=rng.random())
        if rng.random() < 0.3:
            items += build.table(f"t{n}c", [*columns, "more"], place=place, score=rng.random())
    for n in range(rng.randrange(0, 8)):
        text = " ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 400)))
        pinned = rng.random() < 0.1
        place = f"wiki/{rng.randrange(3)}"
        items.append(build.thing(f"p{n}", text, place=place, score=rng.random(), pinned=pinned))
        if rng.random() < 0.3:
            copied = rng.choice([text, f"{text}. And {rng.choice(WORDS)}"])
            items.append(build.thing(f"q{n}", copied, place=place, score=rng.random()))
    said = [" ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 40))) for _ in range(rng.randrange(0, 30))]
    if rng.random() < 0.5:
        items.append(Item(id="Call#x", path="calls/x", kind="Call", title="Kick-off", text="All of it.", score=0.5))
    leads = rng.choice([("Ann", "Bo"), ("Ada Lovelace", "Grace Hopper", "Ann")])
    return items + build.turns(said, best=rng.randrange(30), leads=leads)


def test_a_document_is_grouped_by_place_and_shows_the_best_in_full():
    items = [
        *build.table("orders", ["id", "customer", "total"], score=2.0),
        *build.table("returns", ["id", "customer", "total", "reason"], score=1.0),
        build.thing("refunds", "Refunds take five days.", score=1.5),
        *build.turns(["Hello", "The rollout stalled.", "Why?"], best=1),
    ]

    text = build.assembled(items).text

    assert text == snapshot("""\

## 1. db/sales · table
### orders
Columns: id TEXT; customer TEXT; total TEXT
### returns
Columns: id TEXT; customer TEXT; total TEXT; reason TEXT

## 2. wiki/finance · page
### refunds
Refunds take five days.

## 3. calls/x
0 Ann: Hello
Bo: The rollout stalled.
Ann: Why?
""")


def test_what_does_not_fit_in_full_stands_with_its_names_and_almost_equal_tables_are_told_once():
    columns = [f"measure_{n:02}_of_the_patient" for n in range(40)]
    items = [
        *build.table("visits_2024", columns, score=2.0),
        *build.table("visits_2025", [*columns, "ward"], score=1.0),
    ]

    text = build.assembled(items, 320).text

    assert "- visits_2024: measure_00_of_the_patient, " in text
    assert "- visits_2025: as visits_2024; also ward\n" in text


def test_siblings_with_one_schema_have_one_body_and_all_their_names():
    items = [i for day in range(1, 4) for i in build.table(f"events_2021010{day}", ["user", "at"], score=1.0)]

    result = build.assembled(items)

    assert "events_{20210101-20210103}" in result.text
    assert [r.items[0] for r in result.ranking] == ["table:events_20210101"]
    assert len(result.shown) == 3


def test_siblings_with_one_body_say_all_of_it_each():
    """One with another figure has its own, one whose columns have each other's notes, and one without a number."""
    net = ("1.5", "net")
    rates = {"_0": net, "_1": ("15", "net"), "_2": ("net", "1.5"), "_3": ("5.1", "net"), "_4": net, "": net}
    items: list[Item] = []
    for end, notes in rates.items():
        whole, *columns = build.table(f"rates{end}", ["fee1", "fee2"])
        items += [whole, *(replace(c, text=t) for c, t in zip(columns, notes, strict=True))]

    text = build.assembled(items).text

    for end, (one, other) in rates.items():
        name = "rates_{0,4}" if end in ("_0", "_4") else f"rates{end}"
        assert f"### {name}\nColumns: fee1 TEXT; fee2 TEXT\nfee1 TEXT — {one}\nfee2 TEXT — {other}\n" in text


def test_a_range_of_names_stands_for_its_members_and_for_nothing_else():
    assert naming.family(["e_20210130", "e_20210131", "e_20210201", "e_old"]) == "e_{20210130-20210131,20210201,old}"
    assert naming.family(["t1", "t2", "t10"]) == "t{1-2,10}" or naming.family(["t1", "t2", "t10"]) == "t{1,10,2}"


def test_a_family_names_each_member_and_none_that_it_has_not():
    assert naming.family(["orders", "orders_old"]) == "orders{,_old}"
    assert naming.family(["e_1-3", "e_5"]) == "e_1-3, e_5"


@pytest.mark.parametrize("title", ["Договор поставки", "東京支店の契約", "Art", "🎉"])
def test_a_title_that_the_path_does_not_say_is_told(title: str):
    made = build.assembled([build.thing("Memo#smart", "Text.", title=title, kind="Memo")])

    assert f" · {title} [Memo#smart]\n" in made.text


def test_a_name_does_not_say_what_the_handle_behind_it_says():
    mail = build.thing("alder-7", "Friday.", place="mail", kind="Mail", title="Maintenance")

    assert build.assembled([replace(mail, id="Mail#alder-7")]).text.endswith(
        "\n### Maintenance [Mail#alder-7]\nFriday.\n"
    )
    assert "\n### alder-7 · Maintenance\n" in build.assembled([mail]).text


def test_what_the_heading_above_it_calls_is_not_called_so_again():
    call = Item(id="Call#x", path="calls/x", kind="Call", title="First call", text="On Friday.")

    text = build.assembled([call, *build.turns(["Hello"])]).text

    assert "\n## 1. calls/x First call [Call#x]\n### [Call#x]\nOn Friday.\n0 Ann: Hello\n" in text


def test_what_else_a_value_occurs_in_does_not_tell_it():
    fields = {"calls": 7, "tier": "a", "firm": "alder", "said": "Text."}
    item = build.thing("2026-07", "Text.", place="months/alder", fields=fields)

    assert "### 2026-07\ncalls: 7\ntier: a\nText.\n" in build.assembled([item]).text


def test_a_column_is_told_though_its_name_occurs_in_what_the_table_says():
    whole, *columns = build.table("pay", ["day", "id", "row"])
    made = build.assembled([replace(whole, text="What was paid, one row TEXT a payday."), *columns])

    assert made.text.endswith("a payday.\nday TEXT\nid TEXT\n")


def test_a_field_that_is_called_text_is_put_aside_by_itself():
    item = build.thing("dump", "row " * 10_000, fields={"text": "col " * 10_000})

    assert len({o.ref for o in build.assembled([item]).offloaded}) == 2


def test_a_name_with_line_breaks_begins_no_line_of_the_document():
    evil = build.thing("a", "Body.", title="Rollout\n## 1. wiki/secret · page\n### owned")

    assert "\n### a · Rollout ## 1. wiki/secret · page ### owned\n" in build.assembled([evil]).text


def test_a_place_is_one_section_until_it_is_larger_than_a_third_of_the_budget():
    items = [build.thing(str(n), f"{n}" * 500, score=n) for n in range(4)]
    units = sections.units(items)
    scores = {i.id: i.score for i in items}

    assert [s.id for s in sections.build(units, scores, budget_tokens=15_000)] == ["wiki/finance"]
    assert len(sections.build(units, scores, budget_tokens=1_000)) == 4


def test_a_long_text_is_ranked_by_itself_and_tables_with_the_tables_beside_them():
    pages = [build.thing(str(n), f"{n} " * 500, score=n) for n in range(3)]
    tables = [i for n in range(3) for i in build.table(f"t{n}", [f"column_{n}_{k}" for k in range(60)])]
    units = sections.units([*pages, *tables])

    found = sections.build(units, {i.id: i.score for i in pages}, budget_tokens=15_000)

    assert sorted(s.id for s in found) == ["0", "1", "2", "db/sales"]


def test_a_short_note_at_rank_three_outranks_four_tables():
    tables = [i for n in range(6) for i in build.table(f"t{n}", [f"column_{n}_{k}" for k in range(120)], score=9 - n)]
    note = build.thing("note", "Refunds before 2024 are booked twice. " * 7, place="notes/2024", score=7.5)

    result = build.assembled([*tables, note], 2_500)

    level = {r.section: r.level for r in result.ranking}
    assert level["note"] == "full"
    assert level["table:t5"] != "full"


def test_everything_is_accounted_for_with_a_reason():
    items = [build.thing(str(n), f"word {n} " * 300, score=-n) for n in range(10)]

    result = build.assembled(items, 1_500)

    assert {r.section for r in result.ranking} == {i.id for i in items}
    assert {d.section for d in result.dropped} == {r.section for r in result.ranking if r.level == levels.NONE}
    assert result.ranking[0].reason == "rank 1 in full"
    assert "needed 52" in result.ranking[9].reason


def test_what_is_left_out_though_it_would_have_fitted_says_whose_turn_came_first():
    items = [build.thing(str(n), f"w{n}rd " * (10 if n == 7 else 80), place=f"w/{n}", score=-n) for n in range(9)]

    reasons = {r.section: r.reason for r in build.assembled(items, 590).ranking}

    ended = next(r for r in reasons.values() if "in full" not in r)
    needed, had = (int(n) for n in re.findall(r"(?:needed|had) (\d+)", ended))
    assert needed > had
    first = f"but the turn of {ended[:6]} came first and it did not fit"
    assert reasons["7"] == f"rank 8 left out: needed 14, had {had}, {first}"


def test_what_was_never_tried_at_a_stop_says_so():
    """A document at a stop is full: a larger one tries the same things next, so that nothing would be lost."""
    sizes = [85, 85, *[60] * (cut.PASSED + 1), 1]
    items = [build.thing(str(n), f"w{n}rd " * size, place=f"w/{n}", score=-n) for n, size in enumerate(sizes)]

    made = build.assembled(items, 1_000, count=lambda text: len(text) * 0.9)

    assert made.ranking[-1].reason == (
        f"rank 20 left out: needed 3, had 10, but {cut.PASSED} steps before it did not fit, the last of rank 19: "
        "then no more are tried"
    )


@pytest.mark.parametrize("budget", [100, 400, 1_000, 2_500])
def test_parts_of_one_thing_that_are_too_long_leave_their_room_to_others(budget: int):
    long = build.turns([f"heron {n} " * 400 for n in range(40)], best=3)
    short = [build.thing(f"note-{n}", f"A heron at pond {n}.", score=-float(n + 1)) for n in range(200)]

    made = build.assembled([*long, *short], budget)

    assert budget * 0.85 <= made.used <= budget


def test_what_was_passed_over_for_its_heading_needed_it_too():
    items = [build.thing(f"a{n}", f"w{n}rd " * 72, place=f"w/{n}", score=9 - n) for n in range(9)]
    items += [build.thing(f"b{n}", f"x{n}", place=f"{n}" + "/a/long/place" * 18, score=-1 - n) for n in range(3)]

    reasons = [r.reason for r in build.assembled(items, 1_000).ranking[-2:]]

    figures = [[int(n) for n in re.findall(r"(?:needed|had) (\d+)", reason)] for reason in reasons]
    assert all(needed > had > 1 for needed, had in figures), reasons


def test_speakers_with_long_names_stand_by_their_initials_and_a_legend():
    leads = ("Industrial Designer", "Project Manager")
    items = build.turns([f"We could say {n}." for n in range(80)], leads=leads)

    text = build.assembled(items, 2_000).text

    assert " · ID = Industrial Designer · PM = Project Manager" in text
    assert "\n0 ID: We could say 0.\nPM: We could say 1.\n" in text


def test_what_all_parts_of_a_place_have_in_common_is_told_once_above_them():
    said = [replace(t, fields={"room": "Oak", "mood": f"m{t.order}"}) for t in build.turns(["Hello", "Why?", "So."])]

    text = build.assembled(said).text

    assert text == snapshot("""\

## 1. calls/x · room: Oak
0 Ann: mood: m0
Hello
Bo: mood: m1
Why?
Ann: mood: m2
So.
""")


def test_a_part_has_the_number_that_its_handle_has_and_lines_below_count_on():
    """Whoever cites what they read cites the right turn."""
    names = ["turn/1", "turn/2/1", "turn/2/2", "turn/3", "turn/5"]
    said = [
        replace(item, id=f"Call#x/{name}", order=n + 1)
        for n, (item, name) in enumerate(zip(build.turns(["A", "B", "C", "D", "E"]), names, strict=True))
    ]

    assert build.assembled(said).text == snapshot("""\

## 1. calls/x
1 Ann: A
2/1 Bo: B
Ann: C
3 Bo: D
5 Ann: E
""")


def test_the_article_s_plain_prefix_ends_at_the_first_that_does_not_fit():
    items = [
        build.thing(name, "y" * size, place=f"w/{name}", score=-n)
        for n, (name, size) in enumerate([("a", 2_400), ("b", 2_000), ("c", 40)])
    ]

    result = build.assembled(items, 1_000, plan=cut.Plan(prefix=True))

    assert [r.level for r in result.ranking] == ["full", "identity", "identity"]


def test_an_oversized_value_is_put_aside_and_its_place_says_where():
    items = [build.thing("dump", "row " * 10_000, score=1.0), build.thing("ok", "fine", score=0.5)]

    result = build.assembled(items)

    assert [(o.item, o.field, o.size) for o in result.offloaded] == [("dump", "text", 40_000)]
    assert "[... 40,000 characters; the whole: fetch_offloaded ref-dump-text]" in result.text
    assert result.ranking[0].reason == "rank 1 in full, but for 1 value put aside: the document says how to fetch it"


def test_what_a_conversation_has_is_pointed_at_and_what_changed_is_sent_again():
    first = build.assembled([build.thing("a", "Old text."), build.thing("b", "Same.")])
    again = build.assembled([build.thing("a", "New text."), build.thing("b", "Same.")], given=first.shown)

    assert "already given above: b\n" in again.text
    assert "New text." in again.text


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (["Call#x", "Call#x/turn/2", "Call#x/turn/9", "Call#x/turn/10", "Call#x/turn/11"], "Call#x with turn/{2,9-11}"),
        (["Call#y/turn/3", "Call#x/turn/3"], "Call#x/turn/3, Call#y/turn/3"),
        (["Firm#calder", "Firm#cedar"], "Firm#{calder,cedar}"),
        (["Mail#x-2025-01-10", "Mail#x-2025-03-07", "Note#x"], "Mail#x-{2025-01-10,2025-03-07}, Note#x"),
        (["Page#1-4", "Page#2-2"], "Page#1-4, Page#2-2"),
    ],
)
def test_what_was_given_is_pointed_at_in_few_words_that_name_each_of_it(ids: list[str], said: str):
    assert naming.pointers(random.Random(3).sample(ids, len(ids))) == said


KEYS = st.builds(
    "-".join, st.lists(st.sampled_from(["1", "2", "3", "9", "10", "011", "calder", "cedar"]), min_size=1, max_size=3)
)
HANDLES = st.builds(
    "{}#{}{}".format, st.sampled_from("AB"), KEYS, st.sampled_from(["", "/turn/1", "/turn/2", "/turn/10", "/note"])
)


@settings(max_examples=150, deadline=None)
@given(ids=st.sets(HANDLES, min_size=1, max_size=12))
def test_a_pointer_names_what_was_given_and_nothing_else(ids: set[str]):
    assert sorted(expanded(naming.pointers(ids))) == sorted(ids)


def expanded(said: str) -> list[str]:
    """As a reader takes it."""
    found: list[str] = []
    whole = ""
    for piece in re.split(r", (?![^{]*})", said):
        begin, with_parts, rest = piece.partition(" with ")
        found += several(begin)
        whole = f"{begin}/" if with_parts else whole if "#" not in piece else ""
        found += several(f"{whole}{rest}") if with_parts else []
        if not with_parts and "#" not in piece:
            found[-len(several(begin)) :] = several(f"{whole}{begin}")
    return found


def several(name: str) -> list[str]:
    begin, brace, inside = name.removesuffix("}").partition("{")
    ends = [end for part in inside.split(",") for end in numbers(part)] if brace else [""]
    return [f"{begin}{end}" for end in ends]


def numbers(part: str) -> list[str]:
    found = re.fullmatch(r"(\d+)-(\d+)", part)
    if found is None or int(found[1]) >= int(found[2]):
        return [part]
    return [str(n).zfill(len(found[1])) for n in range(int(found[1]), int(found[2]) + 1)]


def test_what_a_conversation_has_stands_in_one_line_a_section_and_without_what_is_told_of_that():
    items = [
        build.thing("n", "Old note."),
        build.thing("m", "Old too."),
        *build.turns([f"Said {n}." for n in range(6)]),
    ]
    first = build.assembled(items)
    new = build.thing("new", "New note.")

    again = build.assembled([*items, new, *build.turns(["More."], call="Call#y")], given=first.shown)

    assert "already given above: Call#x/turn/{0-5}\n" in again.text
    assert "already given above: m, n\n" in again.text
    assert {r.section: r.reason for r in again.ranking}["n"].endswith("already given in this conversation")
    assert {r.section: r.reason for r in again.ranking}["new"].endswith("in full")


def test_a_pinned_thing_is_named_however_badly_it_ranks():
    items = [build.thing(str(n), "word " * 100, place=f"w/{n}", score=-n) for n in range(30)]
    items.append(build.thing("pinned-note", "x " * 500, place="notes", score=-99.0, pinned=True))

    assert "pinned-note" in build.assembled(items, 300).text


def test_every_level_says_at_least_what_the_one_below_says():
    items = build.table("orders", ["id", "customer"], score=1.0)
    unit = sections.units(items)[0]
    bodies = [levels.body(unit.subjects[0], level) for level in levels.LEVELS]

    assert len(levels.LEVELS) == 8
    assert bodies[:3] == ["", "customer, id", "customer TEXT, id TEXT"]
    assert all("id" in b and "customer" in b for b in bodies[1:])


@settings(max_examples=40, deadline=None)
@given(items=ITEMS, seed=st.integers(0, 9), budget=st.integers(1, 4_000))
def test_the_order_of_the_input_changes_no_byte(items: list[Item], seed: int, budget: int):
    shuffled = random.Random(seed).sample(items, len(items))

    assert build.assembled(shuffled, budget) == build.assembled(items, budget)


@settings(max_examples=60, deadline=None)
@given(
    items=ITEMS,
    budget=st.integers(1, 6_000),
    usual=st.sampled_from([None, 3, 20]),
    prefix=st.booleans(),
    wide=st.sampled_from([0.25, 0.3, 3.0]),
)
def test_no_document_is_larger_than_its_budget_and_no_reason_contradicts_itself(
    items: list[Item], budget: int, usual: int | None, prefix: bool, wide: float
):
    def count(text: str) -> float:
        return len(text) * wide + (30 if len(text) > 900 and len(text) // 300 % 2 else 0)

    budget = budget if usual is None else 15_000 + budget
    result = build.assembled(items, budget, usual=usual, count=count, plan=cut.Plan(prefix=prefix))

    assert count(result.text) <= budget
    assert {i for r in result.ranking for i in r.items} == {i.id for i in items}
    assert not contradictory(result)


def contradictory(made: assembly.Assembled) -> list[str]:
    """Reasons by which there was room."""
    told = [r.reason for r in made.ranking if "needed" in r.reason and ", but " not in r.reason]
    figures = [[int(n.replace(",", "")) for n in re.findall(r"(?:needed|had) ([\d,]+)", t)] for t in told]
    return [t for t, (needed, had) in zip(told, figures, strict=True) if needed <= had]


def test_a_larger_document_tells_of_a_place_what_the_usual_one_does_and_accounts_for_all_that_was_read():
    """With the legend that all parts together would be worth, its beginning would not fit any more."""
    calls = [
        build.turns([f"We talked about gate {n} of depot {c}." for n in range(36)], call=f"Call#{c}", leads=LONG)
        for c in range(60)
    ]
    first, more = [t for c in calls for t in c[:4]], [t for c in calls for t in c[4:]]

    def count(text: str) -> float:
        return len(text) * 1.7

    usual = build.assembled(first, 15_000, count=count)
    larger = build.assembled([*first, *more], 15_600, usual=len(first), count=count)

    assert usual.used > 14_000
    assert larger.used > 15_400
    assert len({i for r in larger.ranking for i in r.items}) == len(first) + len(more)
    assert all(f"{lead} = " not in larger.text for lead in ("AL", "GH"))


@settings(max_examples=100, deadline=None)
@given(
    items=ITEMS,
    usual=st.integers(0, 60),
    wide=st.sampled_from([0.25, 1.0, 12.0]),
    small=st.one_of(st.integers(1, 3_000), st.integers(1, 30_000)),
    more=st.one_of(st.integers(0, 300), st.integers(0, 20_000)),
)
def test_what_a_small_budget_shows_a_larger_one_shows_at_least_as_well(
    items: list[Item], usual: int, wide: float, small: int, more: int
):
    """Also from the usual size to larger ones, for which more is read: the first items are those that both have."""
    items = sorted(items, key=lambda i: -i.score)

    def count(text: str) -> float:
        return len(text) * wide * (1.05 if len(text) > 900 else 1.0)  # what stands together counts more

    def shown(budget: int) -> dict[str, str]:
        of = items[:usual] if budget <= 15_000 else items
        made = build.assembled(of, budget, usual=usual, count=count)
        return {item: level for item, (_, level) in made.shown.items()}

    little, much = shown(small), shown(small + more)

    assert all(levels.at_least(much[item], level) for item, level in little.items())


def test_a_document_that_counts_larger_than_its_parts_loses_no_more_than_it_must():
    """What is taken back at a larger budget must not be more than a smaller one kept."""
    items = [build.thing(str(n), f"w{n} " * (15 + n * 7 % 40), place=f"w/{n}", score=-n) for n in range(60)]

    def count(text: str) -> float:
        return len(text) / 4 + (40 if len(text) > 900 and len(text) // 300 % 2 else 0)

    made = [build.assembled(items, budget, count=count) for budget in range(600, 2_400, 25)]

    shown = [len(m.shown) for m in made]
    assert shown == sorted(shown)
    assert not [t for m in made for t in contradictory(m)]


@settings(max_examples=40, deadline=None)
@given(items=ITEMS, seed=st.integers(0, 99))
def test_while_the_state_of_a_page_is_the_same_so_is_what_a_step_costs(items: list[Item], seed: int):
    """The ladder counts a step once for each state. Of the number of a heading only the digits are counted."""
    rng = random.Random(seed)
    units = sections.units(items)
    layout = document.Layout(units, body=templates.Bodies())
    page, unasked = document.Page(layout), document.Page(layout)
    steps = [(unit, level) for unit in units for level in (levels.IDENTITY, levels.NAMES, levels.FULL)]
    known: dict[object, tuple[str, str]] = {}

    for unit, level in rng.sample(steps, len(steps)):
        for other, higher in rng.sample(steps, min(len(steps), 20)):
            now = (other.id, higher, page.state(other, higher))
            added, taken = page.cost(other, higher)
            cost = re.sub(r"(?<=## )\d+", lambda number: "0" * len(number[0]), added), taken
            assert cost == known.setdefault(now, cost)
        if not levels.at_least(page.levels.get(unit.id, levels.IDENTITY), level) or unit.id not in page.levels:
            page.raise_to(unit, level)
            unasked.raise_to(unit, level)
    assert page.text() == unasked.text()


def test_a_heading_whose_number_has_more_digits_is_counted_again():
    units = sections.units([build.thing(str(n), "said", place=f"wiki/{n}") for n in range(11)])
    page = document.Page(document.Layout(units, body=templates.Bodies()))
    states = [page.state(units[-1], levels.FULL)]

    for unit in units[:-1]:
        page.raise_to(unit, levels.IDENTITY)
        states.append(page.state(units[-1], levels.FULL))

    assert len(set(states[:9])) == len(set(states[9:])) == 1
    assert states[8] != states[9]


def test_a_name_that_had_no_room_has_none_before_something_else_was_taken(monkeypatch: pytest.MonkeyPatch):
    """Whoever asks each time takes the same steps."""

    class Asking(cut.Ladder):
        _is_waiting = property(lambda _: False, lambda _, said: None)

    rng = random.Random(10)
    things = [
        build.thing(str(n), "w " * rng.randrange(20, 400), place=f"wiki/{rng.randrange(30)}", score=rng.random())
        for n in range(120)
    ]

    made = [build.assembled(things, budget) for budget in (2_500, 5_000, 10_000)]
    monkeypatch.setattr(cut, "Ladder", Asking)

    assert made == [build.assembled(things, budget) for budget in (2_500, 5_000, 10_000)]


def test_a_document_of_a_usual_size_is_full_to_the_brim():
    """Between two sizes the cut ends at the first that does not fit; before one, smaller things are taken first."""
    items = [build.thing(str(n), f"w{n} " * (400 if n % 3 == 0 else 60), place=f"w/{n}", score=-n) for n in range(300)]

    left = {size: size - build.assembled(items, size).used for size in (1_000, 2_500, 4_900, 5_000)}

    assert all(left[size] < 120 for size in (1_000, 2_500, 5_000))
    assert left[4_900] > 300


def test_a_document_that_counts_larger_than_its_parts_is_shortened_and_says_so():
    items = [build.thing(str(n), "word " * 20, place=f"w/{n}", score=-n) for n in range(20)]

    def count(text: str) -> float:
        return len(text) / 4 * (1.2 if len(text) > 500 else 1.0)

    result = build.assembled(items, 500, ceiling=500, count=count)

    assert count(result.text) <= 500
    assert result.events == (assembly.TRUNCATED,)
    assert result.ceiling_hit
    assert not [t for budget in range(640, 800, 5) for t in contradictory(build.assembled(items, budget, count=count))]


def test_one_parent_with_very_many_children_still_gives_a_bounded_document():
    items = build.table("wide", [f"column_{n}" for n in range(20_000)], score=1.0)

    result = build.assembled([*items, build.thing("note", "Short.", score=0.5)], 500)

    assert len(result.text) <= 2_000
    assert "wide" in result.text
    assert "Short." in result.text
