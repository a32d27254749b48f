"""`connectors/*.yaml`: everything that is wrong with one, at once, with line and column (formats §8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.connect import world
from ukai.app import lint, loading
from ukai.connect import definition
from ukai.connect.csv import Csv
from ukai.connect.kinds import CONNECTORS
from ukai.connect.sql_catalogue import COLUMNS
from ukai.kit import document

FORMATS = b"""\
connector: crm
source: {kind: csv, files: "crm/accounts*.csv"}
into: {domain: crm, node_type: Account}
map: {key: "row.account_id", set: {name: "row.Name", arr: "row.ARR"}}
edges: [{edge: owned_by, to: {node_type: Person, match: {email: "row.owner_email"}}}]
readers: ["'group:' + row.team"]
provenance: {asserted_by: "row.last_modified_by", at: "row.last_modified"}
cursor: "row.last_modified"
schedule: "*/15 * * * *"
mode: {columns: evolve, types: discard_row}
missing: tombstone
"""


def told(text: bytes, name: str = "connectors/crm.yaml") -> list[tuple[str, str]]:
    """(code, line:column) of every finding, against the domain of the tests."""
    doc, findings = document.read(text, name=name)
    assert doc is not None, findings
    made, findings = definition.read(doc)
    domain = world.domain()
    findings += definition.check(doc, made, {domain.domain: domain}) if made is not None else []
    return [(f.code, f.where.removeprefix(f"{name}:")) for f in findings]


def test_the_example_of_the_formats_is_fine():
    assert told(FORMATS) == []

    doc, _ = document.read(FORMATS, name="connectors/crm.yaml")
    assert doc is not None
    made, _ = definition.read(doc)
    assert made is not None
    assert made.source == Csv(files="crm/accounts*.csv")
    assert made.principal == "service:crm"


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("kind: csv", "kind: cvs", ("not_allowed", "2:16")),
        ("kind: csv, ", "", ("missing_key", "2:9")),
        ("files:", "file:", ("unknown_key", "2:21")),
        ('files: "crm/accounts*.csv"', 'files: a, delimiter: ";;"', ("invalid_value", "2:9")),
        ("domain: crm,", "domain: cmr,", ("unknown_domain", "3:16")),
        ("node_type: Account}", "node_type: Acount}", ("unknown_type", "3:32")),
        ('"row.account_id"', '["row.a", "row.b"]', ("key_mismatch", "4:12")),
        ("name: ", "nmae: ", ("unknown_field", "4:36")),
        ("row.Name", "rwo.Name", ("invalid_expression", "4:42")),
        ("row.Name", "lowr(row.Name)", ("invalid_expression", "4:42")),
        ("edge: owned_by", "edge: owns", ("unknown_edge", "5:16")),
        ("node_type: Person", "node_type: Persn", ("unknown_type", "5:42")),
        ("node_type: Person", "node_type: Account", ("invalid_option", "5:30")),
        (", to: {", ", from: {", ("invalid_option", "5:32")),
        ("{email:", "{mail:", ("key_mismatch", "5:57")),
        ("'group:' + row.team", "'group:' + ", ("invalid_expression", "6:11")),
        ("asserted_by:", "author:", ("not_allowed", "7:22")),
        ("*/15", "61", ("invalid_cron", "9:11")),
        ("types: discard_row", "types: drop", ("not_allowed", "10:32")),
        ("connector: crm", "connector: cmr", ("name_mismatch", "1:12")),
    ],
)
def test_a_mistake_is_told_at_its_place(old: str, new: str, found: tuple[str, str]):
    text = FORMATS.decode()
    assert old in text

    assert told(text.replace(old, new, 1).encode()) == [found]


def test_readers_need_a_field_that_takes_them():
    text = FORMATS.replace(b"node_type: Account}", b"node_type: Person}", 1).replace(b"arr:", b"email:")
    text = b"\n".join(line for line in text.splitlines() if not line.startswith(b"edges"))

    assert told(text) == [("readers_not_declared", "5:1")]


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ('{kind: sql, url: "postgresql://u:secret@h/d", table: a}', "password"),
        ("{kind: sql, url: CRM_URL}", "either a table or a query"),
        ('{kind: sql_catalogue, url: "nowhere at all", name: w, of: tables}', "neither the name"),
    ],
)
def test_sources_are_judged_by_their_kind(source: str, wrong: str):
    text = FORMATS.decode().replace('{kind: csv, files: "crm/accounts*.csv"}', source).encode()
    doc, _ = document.read(text, name="connectors/crm.yaml")
    assert doc is not None

    made, findings = definition.read(doc)

    assert made is None
    assert any(wrong in f.message for f in findings)


@pytest.mark.parametrize(
    ("source", "column"),
    [
        ("{kind: sql_catalogue, url: SHOP, name: w, of: keys}", "to_table"),
        ("{kind: sql_catalogue, url: SHOP, name: w, of: columns}", "nullable"),
        ("{kind: mail, files: a.mbox}", "thread"),
        ('{kind: markdown, files: "*.md"}', "modified"),
    ],
)
def test_a_column_that_the_kind_never_has_is_told(source: str, column: str):
    text = f"""\
connector: crm
source: {source}
into: {{domain: crm, node_type: Account}}
map: {{key: "row.{column}", set: {{name: "lower(row.{column}) + row.{column}x"}}}}
"""

    assert told(text.encode()) == [("unknown_column", "4:{}".format(text.splitlines()[3].index('"lower') + 1))]


def test_lint_holds_connectors_against_the_domains_of_the_workspace(tmp_path: Path):
    (tmp_path / "connectors").mkdir()
    (tmp_path / "domains").mkdir()
    (tmp_path / "ukai.yaml").write_text("company: acme\n")
    (tmp_path / "domains/crm.yaml").write_bytes(world.DOMAIN)
    (tmp_path / "connectors/crm.yaml").write_bytes(FORMATS.replace(b"name: ", b"nmae: "))

    found = lint.lint(tmp_path)

    assert [(f.code, f.where) for f in found.findings] == [("unknown_field", "connectors/crm.yaml:4:36")]
    assert list(loading.connectors(loading.load(tmp_path).catalog)) == ["crm"]


def test_every_kind_is_on_its_page():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "connector.md").read_text(encoding="utf-8")

    assert [k for k in CONNECTORS if f"\n### `{k}`" not in page] == []
    for of, columns in COLUMNS.items():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{of}` |")]
        assert [c for c in columns if f"`{c}`" not in row] == []
