"""`ukai schema` as a function: check, upload, list, show, import (W1)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.app import build
from ukai import store
from ukai.app import identity, propose, schema
from ukai.graph import domain_file
from ukai.kit import document


@pytest.fixture
def root(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UKAI_DATABASE_URL", database_url)
    return build.workspace(tmp_path)


def test_a_file_is_checked_line_by_line_without_a_database(tmp_path: Path):
    wrong = build.DOMAIN.replace("kind: integer, min: 0", "kind: intger")
    (tmp_path / "review.yaml").write_text(wrong)

    found = schema.check(tmp_path, [tmp_path / "review.yaml"])

    assert found.domains == ()
    assert found.findings[0].where.endswith("review.yaml:5:76")
    assert "integer" in found.findings[0].hint + found.findings[0].expected


def test_an_edge_may_lead_to_a_type_of_another_file(tmp_path: Path):
    build.workspace(tmp_path)
    (tmp_path / "domains/teams.yaml").write_text(
        "domain: teams\n"
        "types: [{type: Team, key: name, fields: [{key: name, kind: string, required: true}]}]\n"
        "edges: [{edge: looks_after, from: Team, to: Repo}]\n"
    )

    whole = schema.check(tmp_path, [])
    alone = schema.check(tmp_path, [tmp_path / "domains/teams.yaml"])
    (tmp_path / "domains/review.yaml").unlink()
    lonely = schema.check(tmp_path, [])

    assert (whole.findings, alone.findings, len(whole.domains)) == ((), (), 2)
    assert [f.severity for f in lonely.findings] == ["error"]


def test_where_there_is_nothing_to_check_it_says_so(tmp_path: Path):
    with pytest.raises(schema.NoDomains):
        schema.check(tmp_path, [])
    with pytest.raises(propose.Unreadable, match="cannot be read"):
        schema.check(tmp_path, [tmp_path / "no.yaml"])


async def test_an_upload_makes_a_version_and_a_repetition_none(root: Path):
    first = await schema.upload(root, [], named=None)
    again = await schema.upload(root, [], named=None)
    text = build.DOMAIN.replace("{key: stars, kind: integer, min: 0}", "{key: stars, kind: integer}")
    (root / "domains/review.yaml").write_text(text)
    before = await schema.listed(root, named=None)
    second = await schema.upload(root, [], named=None)

    assert [first.as_json(), again.as_json(), second.as_json()] == [
        {"uploaded": [{"domain": "review", "version": v, "changed": c}], "findings": []}
        for v, c in ((1, True), (1, False), (2, True))
    ]
    assert [(r["version"], r["files"]) for r in before] == [(1, "differ")]
    assert (await schema.show(root, "review", version=1, named=None))["types"][0]["fields"][1]["min"] == 0
    assert "min" not in (await schema.show(root, "review", version=None, named=None))["types"][0]["fields"][1]


async def test_one_wrong_file_keeps_all_of_them_out(root: Path, database_url: str):
    (root / "domains/broken.yaml").write_text("domain: broken\ntypes: [{type: T, fields: [{key: a, kind: x}]}]\n")

    done = await schema.upload(root, [], named=None)

    assert (done.failed, done.domains) == (True, ())
    assert [r["version"] for r in await schema.listed(root, named=None)] == [None]


async def test_uploading_needs_its_right(root: Path):
    text = build.POLICIES.replace("{id: ann-uploads, allow: upload", "{id: ann-uploads, deny: upload")
    (root / "access/policies.yaml").write_text(text)

    with pytest.raises(identity.NoRight, match="upload a schema"):
        await schema.upload(root, [], named=None)


async def test_a_domain_or_version_that_is_not_there_is_named(root: Path):
    await schema.upload(root, [], named=None)

    with pytest.raises(schema.Unknown, match="did you mean 'review'"):
        await schema.show(root, "revew", version=None, named=None)
    with pytest.raises(schema.Unknown, match="no version 7"):
        await schema.show(root, "review", version=7, named=None)


async def test_what_is_shown_is_a_file_that_says_the_same(root: Path):
    await schema.upload(root, [], named=None)
    shown = await schema.show(root, "review", version=None, named=None)
    shown.pop("version")
    shown.pop("templates")

    again, findings = domain_file.read(schema.as_yaml(shown).encode(), name="again.yaml")

    assert findings == []
    assert again is not None
    assert again.fingerprint == build.domain().fingerprint


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3),
    max_leaves=8,
)


@given(data=st.dictionaries(st.text("abcdef", min_size=1, max_size=5), VALUES, min_size=1, max_size=4))
def test_yaml_that_is_written_reads_back(data: dict[str, object]):
    doc, findings = document.read(schema.as_yaml(data).encode("utf-8"), name="x.yaml")

    assert [f for f in findings if f.severity == "error"] == []
    assert doc is not None
    assert doc.data == data


def test_a_json_schema_becomes_a_domain_file(tmp_path: Path):
    (tmp_path / "order.json").write_text(
        json.dumps(
            {
                "type": "object",
                "required": ["id"],
                "additionalProperties": False,
                "properties": {"id": {"type": "string"}, "size": {"enum": ["s", "m"]}, "due": {"type": "string"}},
            }
        )
    )

    found, findings = schema.imported(tmp_path / "order.json", type="Order", domain="shop", key=["id"])

    assert found is not None
    assert [f for f in findings if f.severity == "error"] == []
    assert [f["key"] for f in found["types"][0]["fields"]] == ["id", "size", "due"]
    assert found["types"][0]["key"] == ["id"]


@pytest.mark.parametrize("text", ['{"type": ', '{"type": "object", "properties": 7}', '{"$ref": "#/nowhere"}'])
def test_a_json_schema_that_cannot_be_used_is_findings(tmp_path: Path, text: str):
    (tmp_path / "x.json").write_text(text)

    found, findings = schema.imported(tmp_path / "x.json", type="X", domain="x", key=[])

    assert found is None
    assert any(f.severity == "error" and f.where.startswith("x.json:") for f in findings)


async def test_a_type_is_described_as_far_as_one_may_read_or_write_it(database: store.Database):
    ann = await build.opened(database)
    ben = build.desk(database, build.BEN)

    whole, part = await schema.type_(ann, "PullRequest"), await schema.type_(ben, "PullRequest")

    assert whole is not None
    assert part is not None
    assert [f["key"] for f in whole["fields"] if not f["write"]] == ["opened_by"]
    assert [(f["key"], f["read"], f["write"]) for f in part["fields"]] == [
        ("number", True, False),
        ("repo", True, False),
        ("title", True, True),
    ]
    assert part["states"]["transitions"] == [{"from": "open", "to": "ready"}]
    assert part["edges"] == []  # of Repo ben sees nothing
    assert await schema.type_(ben, "Repo") is None
    assert await schema.type_names(ben) == ["PullRequest"]
