"""107 hand-kept product files and their own schema (research: gate §5.4): each commits, or is refused with reasons."""

import json
from typing import Any

import jsonschema

from tests import shared
from tests.gate.static.given import AUTHOR, NOW
from ukai.gate import door, shape
from ukai.graph import json_import
from ukai.graph.catalogue import Catalogue
from ukai.graph.schema import Domain
from ukai.kit import document

FOLDER = shared.DATA / "gate" / "endoflife"
pytestmark = shared.needs("gate", "endoflife")


def products() -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for line in (FOLDER / "products.jsonl").read_text().splitlines():
        row = json.loads(line)
        doc, findings = document.read_front_matter(row["text"].encode(), name=row["file"])
        assert doc is not None, findings
        found.append((row["file"], doc.data))
    return found


def test_every_file_gets_the_verdict_of_its_own_schema_with_reasons():
    schema = json.loads((FOLDER / "product-schema.json").read_text())
    imported, findings = json_import.to_type(schema, name="Product", key=("permalink",))
    assert imported is not None, findings
    catalogue = Catalogue([Domain(domain="endoflife", types=(imported.type,))])
    second = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker(["date"]))
    counts = {True: 0, False: 0}
    differing: list[str] = []
    for name, data in products():
        delta, told = door.read(
            {"ops": [{"kind": "create_node", "node_type": "Product", "set": imported.set_of(data)}]}
        )
        assert delta is not None, (name, told)
        verdict = shape.check(delta, catalogue, author=AUTHOR, now=NOW)
        counts[verdict.plan is not None] += 1
        if (verdict.plan is not None) != second.is_valid(data):
            differing.append(f"{name}: {[str(r) for r in verdict.rejections][:2]}")
        assert all(r.hint and r.expected and r.where.startswith("/ops/0/set") for r in verdict.rejections)

    assert differing == []
    assert counts == {True: 46, False: 61}
