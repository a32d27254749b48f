"""What the kinds of sources give: pages with their sections, lists in files, rows and catalogues of SQL databases."""

from __future__ import annotations

import random
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from tests.connect import world
from ukai import store
from ukai.connect import markdown
from ukai.connect.csv import Csv
from ukai.connect.json import Json
from ukai.connect.jsonl import Jsonl
from ukai.connect.mail import Mail
from ukai.connect.markdown import Markdown
from ukai.connect.source import Row, Site, Source, Unread
from ukai.connect.sql import Sql
from ukai.connect.sql_catalogue import COLUMNS, SqlCatalogue
from ukai.kit import document

SHOP = """
create table customer (id integer primary key, name text not null, joined date, balance numeric(8, 2), photo blob);
create table "order"
    (id integer primary key, customer integer not null references customer (id), note text default 'x');
create view rich as select name, balance / 2 as half from customer where balance > 100;
insert into customer values (1, 'Ann', '2026-01-05', 12.5, x'00ff'), (2, 'Bob', null, 200, null);
"""


def rows(source: Source, root: Path, **more: Any) -> list[dict[str, Any]]:
    found = list(source.items(Site(root=root, **more)))
    assert all(isinstance(i, Row) for i in found), found
    return [i.values for i in found if isinstance(i, Row)]


def stops(source: Source, root: Path, **more: Any) -> list[str]:
    found = [i for i in source.items(Site(root=root, **more)) if isinstance(i, Unread)]
    return [i.finding.code for i in found if i.ends]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.executescript(SHOP)
    connection.close()
    return tmp_path


def test_a_page_has_a_title_fields_and_sections(tmp_path: Path):
    world.write(
        tmp_path,
        "---\ntitle: Refunds\nowner: ann\n---\nBefore.\n\n# Rules\nOne.\n```\n# no heading\n```\n## Cases ##\nTwo.\n",
        "refunds.md",
    )

    (page,) = rows(Markdown(files="*.md"), tmp_path)

    assert page.keys() == Markdown.columns
    assert (page["path"], page["title"], page["front"]["owner"]) == ("refunds", "Refunds", "ann")
    assert page["sections"] == [
        {"heading": "", "level": 0, "text": "Before."},
        {"heading": "Rules", "level": 1, "text": "One.\n```\n# no heading\n```"},
        {"heading": "Cases", "level": 2, "text": "Two."},
    ]


@pytest.mark.parametrize(
    ("text", "title"), [("# First\nx", "First"), ("no heading", "plain"), ("---\ntitle: 7\n---\n", "7")]
)
def test_the_title_of_a_page(tmp_path: Path, text: str, title: str):
    world.write(tmp_path, text, "plain.md")

    assert [p["title"] for p in rows(Markdown(files="*.md"), tmp_path)] == [title]


@pytest.mark.parametrize("raw", [b"---\nbroken: [\n---\n", b"a\xffb", b"\xff\xfea\x00"])
def test_a_page_that_cannot_be_read_is_one_refused_row(tmp_path: Path, raw: bytes):
    world.write(tmp_path, raw, "a.md")
    world.write(tmp_path, "fine", "b.md")

    first, second = Markdown(files="*.md").items(Site(root=tmp_path))

    assert isinstance(first, Unread)
    assert not first.ends
    assert isinstance(second, Row)


def test_a_page_may_be_longer_than_a_file_of_the_workspace_and_has_a_limit_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    world.write(tmp_path, "x" * (document.MAX_BYTES + 1), "a.md")

    (page,) = rows(Markdown(files="*.md"), tmp_path)
    monkeypatch.setattr(markdown, "MAX_CELL", document.MAX_BYTES)
    (refused,) = Markdown(files="*.md").items(Site(root=tmp_path))

    assert len(page["body"]) == document.MAX_BYTES + 1
    assert isinstance(refused, Unread)
    assert refused.finding.code == "too_large"


def test_a_list_in_a_file(tmp_path: Path):
    world.write(tmp_path, '{"data": {"items": [{"a": 1}, {"a": 2.5}]}}', "a.json")

    assert [str(r["a"]) for r in rows(Json(files="*.json", at="/data/items"), tmp_path)] == ["1", "2.5"]
    assert stops(Json(files="*.json"), tmp_path) == ["row_unreadable"]
    world.write(tmp_path, "[{]", "a.json")
    assert stops(Json(files="*.json"), tmp_path) == ["json_syntax"]


def test_rows_of_a_table_and_of_a_query(shop: Path):
    url = "sqlite:///shop.db"

    assert rows(Sql(url=url, table="customer"), shop) == [
        {"id": 1, "name": "Ann", "joined": "2026-01-05", "balance": 12.5, "photo": "AP8="},
        {"id": 2, "name": "Bob", "joined": None, "balance": 200, "photo": None},
    ]
    newer = Sql(url=url, query="select id from customer where :cursor is null or id > :cursor order by id")
    assert rows(newer, shop) == [{"id": 1}, {"id": 2}]
    assert rows(newer, shop, cursor=1) == [{"id": 2}]
    assert rows(Sql(url="SHOP", table="order"), shop, environ={"SHOP": url}) == []


@pytest.mark.parametrize(
    "source",
    [
        Sql(url="sqlite:///shop.db", table="nowhere"),
        Sql(url="sqlite:///missing/shop.db", table="customer"),
        Sql(url="NOT_SET", table="customer"),
        Sql(url="nosuchdriver://host/x", table="customer"),
        Sql(url="sqlite:///shop.db", query="selekt 1"),
        SqlCatalogue(url="NOT_SET", name="x", of="tables"),
        SqlCatalogue(url="sqlite:///missing.db", name="x", of="tables"),
        Sql(url="sqlite+pysqlite:///missing.db", query="select 1"),
    ],
)
def test_a_database_that_does_not_answer_is_told(shop: Path, source: Source):
    assert stops(source, shop) == ["source_unreadable"]
    assert [p.name for p in shop.iterdir()] == ["shop.db"]


def test_a_file_that_is_not_there_is_named(shop: Path):
    (item,) = Sql(url="SHOP", table="a").items(Site(root=shop, environ={"SHOP": "sqlite:///data/shopp.db"}))

    assert isinstance(item, Unread)
    assert f"there is no file {shop}/data/shopp.db" in item.finding.message


def test_a_name_with_marks_of_an_address_is_only_read(shop: Path):
    shop.joinpath("shop.db").rename(shop / "a #100%.db")
    url = "sqlite:///a #100%.db"

    assert len(rows(Sql(url=url, table="customer"), shop)) == 2
    assert stops(Sql(url=url, query="create table x as select 1"), shop) == ["source_unreadable"]


def test_nothing_is_written_into_the_database_of_others(shop: Path):
    for query in ("delete from customer", "insert into customer (id, name) values (3, 'C') returning id"):
        assert stops(Sql(url="sqlite:///shop.db", query=query), shop) == ["source_unreadable"]

    assert len(rows(Sql(url="sqlite:///shop.db", table="customer"), shop)) == 2


def test_a_catalogue_of_sqlite(shop: Path):
    def of(what: Any) -> list[dict[str, Any]]:
        return rows(SqlCatalogue(url="sqlite:///shop.db", name="shop", of=what), shop)

    assert of("schemas") == [{"name": "shop", "schema": "main"}]
    assert [(t["table"], t["kind"], t["columns"], t["primary_key"]) for t in of("tables")] == [
        ("customer", "table", ["id", "name", "joined", "balance", "photo"], ["id"]),
        ("order", "table", ["id", "customer", "note"], ["id"]),
        ("rich", "view", ["name", "half"], []),
    ]
    for what, names in COLUMNS.items():
        assert all(row.keys() == set(names) for row in of(what)), what
    columns = {(c["table"], c["column"]): c for c in of("columns")}
    assert columns["customer", "balance"]["type"] == "NUMERIC(8, 2)"
    assert (columns["order", "note"]["default"], columns["order", "customer"]["nullable"]) == ("'x'", False)
    assert (columns["order", "id"]["nullable"], columns["customer", "joined"]["nullable"]) == (False, True)
    assert columns["rich", "half"]["type"] is None  # nobody declared one
    (key,) = of("keys")
    assert (key["table"], key["columns"], key["to_table"], key["to_columns"]) == (
        "order",
        ["customer"],
        "customer",
        ["id"],
    )


async def test_a_catalogue_of_postgresql(database: store.Database, database_url: str, tmp_path: Path):
    async with database.transaction() as tx:
        await tx.execute("create schema sales")
        await tx.execute("create table sales.deal (id int primary key, amount numeric(10, 2) not null)")
        await tx.execute("comment on table sales.deal is 'what was sold'")
        await tx.execute("comment on column sales.deal.amount is 'in euros'")
    given = dict(part.split("=", 1) for part in database_url.split())
    url = f"postgres://{given['user']}@/{given['dbname']}?host={given['host']}&port={given['port']}"
    site = {"environ": {"WAREHOUSE": url}}

    (table,) = rows(SqlCatalogue(url="WAREHOUSE", name="w", of="tables", schemas=("sal*",)), tmp_path, **site)
    columns = rows(SqlCatalogue(url="WAREHOUSE", name="w", of="columns", schemas=("sales",)), tmp_path, **site)
    keys = rows(SqlCatalogue(url="WAREHOUSE", name="w", of="keys", schemas=("public",)), tmp_path, **site)

    assert (table["table"], table["comment"], table["primary_key"]) == ("deal", "what was sold", ["id"])
    assert [(c["column"], c["type"], c["comment"]) for c in columns] == [
        ("id", "INTEGER", None),
        ("amount", "NUMERIC(10, 2)", "in euros"),
    ]
    assert {"edge"} <= {k["table"] for k in keys}


MBOX = b"""From ann@x Mon Jan  5 10:00:00 2026
Message-ID: <1@x>
From: Ann Berg <ANN@x.example>
To: ben@x.example, "Lee, Kim" <kim@x.example>
Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=
Date: Mon, 05 Jan 2026 11:00:00 +0100

Dear all,
>From here on.

From kim@x Mon Jan  5 11:00:00 2026
Message-ID: <2@x>
In-Reply-To: <1@x>
From: kim@x.example
Date: no day at all
Content-Type: multipart/mixed; boundary=B

--B
Content-Type: text/plain; charset=latin-1
Content-Transfer-Encoding: quoted-printable

Sch=F6n.
--B
Content-Type: application/pdf; name=a.pdf
Content-Disposition: attachment; filename=a.pdf

x
--B--

From nobody Mon Jan  5 12:00:00 2026
no headers, no message
"""


def test_messages_of_a_mailbox(tmp_path: Path):
    world.write(tmp_path, MBOX, "a.mbox")

    first, second, third = Mail(files="*.mbox").items(Site(root=tmp_path))

    assert isinstance(first, Row)
    assert first.values.keys() == Mail.columns
    assert first.values == {
        "id": "1@x",
        "subject": "Grüße",
        "sender": "ann@x.example",
        "recipients": ["ben@x.example", "kim@x.example"],
        "at": "2026-01-05T10:00:00Z",
        "body": "Dear all,\nFrom here on.",
        "in_reply_to": None,
        "thread": "1@x",
        "attachments": [],
    }
    assert isinstance(second, Row)
    assert (second.values["body"], second.values["thread"], second.values["at"]) == ("Schön.", "1@x", None)
    assert second.values["attachments"] == ["a.pdf"]
    assert isinstance(third, Unread)
    assert third.place == "a.mbox#3"


ODD = {
    "comment": b"Message-ID: <a@x>\nFrom: " + b"(" * 5_000 + b"\n\nx",
    "parts": b"Message-ID: <a@x>\n"
    + b"".join(b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (i, i) for i in range(1_500)),
    "wrapped": b"Message-ID: <a@x>\n" + b"Content-Type: message/rfc822\n\n" * 3_000,
    "date": b"Message-ID: <a@x>\nDate: Fri, 31 Dec 9999 23:59:59 -1400\n\nx",
}


@pytest.mark.parametrize("name", ODD)
def test_a_message_that_nobody_can_read_costs_itself_and_not_the_mailbox(tmp_path: Path, name: str):
    world.write(tmp_path, b"From x\n" + ODD[name] + b"\n\nFrom x\nMessage-ID: <b@x>\n\nfine\n", "a.mbox")

    odd, fine = Mail(files="a.mbox").items(Site(root=tmp_path))

    # How much of a broken header can be read is a matter of the Python that reads it.
    assert odd.values["sender"] is None if isinstance(odd, Row) else odd.finding.code == "row_unreadable"
    assert isinstance(fine, Row)


@pytest.mark.parametrize("end", [" " * 50_000 + "b", "#" * 50_000 + "b", " #" * 50_000 + "b"], ids=["a", "b", "c"])
def test_a_heading_takes_no_long_time_however_it_is_written(tmp_path: Path, end: str):
    world.write(tmp_path, f"# a{end}\n## About C#\n", "a.md")
    before = time.process_time()

    (page,) = rows(Markdown(files="*.md"), tmp_path)

    assert time.process_time() - before < 2.0
    assert [s["heading"] for s in page["sections"]] == [f"a{end}", "About C#"]


def test_a_table_of_very_many_columns_is_told_at_once(tmp_path: Path):
    world.write(tmp_path, ",".join(f"c{i}" for i in range(50_000)) + ",c7\n", "a.csv")
    before = time.process_time()

    (found,) = Csv(files="a.csv").items(Site(root=tmp_path))

    assert isinstance(found, Unread)
    assert found.finding.message == "two columns are named 'c7'"
    assert time.process_time() - before < 2.0


SEEDS: dict[str, tuple[Source, bytes]] = {
    "a.csv": (Csv(files="a.csv"), b'id,name\n1,"A ""b"" c"\n2,B\r\n'),
    "a.jsonl": (Jsonl(files="a.jsonl"), b'{"a": [1, 2.5e3, "\\u00e9"], "b": {"c": null}}\n{"a": true}\n'),
    "a.json": (Json(files="a.json"), b'[{"a": 1}, {"a": "x"}]'),
    "a.md": (Markdown(files="a.md"), b"---\ntitle: T\n---\n# H\ntext\n```\ncode\n```\n"),
    "a.mbox": (Mail(files="a.mbox"), MBOX),
}


@pytest.mark.parametrize("name", SEEDS)
def test_no_bytes_end_in_a_traceback(tmp_path: Path, name: str):
    source, seed = SEEDS[name]
    rng = random.Random(name)
    for _ in range(150):
        raw = bytearray(seed)
        for _ in range(rng.randrange(1, 12)):
            at = rng.randrange(len(raw))
            raw[at : at + rng.randrange(3)] = rng.choice(
                [b"", b"\0", b"\xff", b'"', b"\n", b"\r", b"{", b"[", b"=?", b"?=", b"<"]
            )
        world.write(tmp_path, bytes(raw), name)

        found = list(source.items(Site(root=tmp_path)))

        assert all(isinstance(i, Row | Unread) for i in found)
