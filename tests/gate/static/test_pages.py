"""The pages about the gate say what the code does."""

import json
import os
import re
from pathlib import Path

from tests.gate.static.given import AUTHOR, NOW
from ukai.gate import contract, door, shape, workflow
from ukai.gate.codes import CODES, HINTS
from ukai.graph import domain_file
from ukai.graph.catalogue import Catalogue

DOCS = Path(__file__).parents[3] / "docs" / "reference"
REJECTIONS = DOCS / "rejections.md"
HEAD = """\
# Rejections

What the gate says against a delta. Everything that is wrong comes back at once, earliest operation first, causes before
what follows from them. Each rejection is one object:

| member | holds |
|---|---|
| `code`, `severity`, `where`, `message`, `expected`, `received`, `hint` | as in every finding, all text |
| `layer` | 1 the schema, 2 the contract, 3 the database |
| `op`, `ref`, `type`, `field` | what it is about |
| `values` | `{expected, received}` for programs |
| `fix_hint` | `{text, patch?, confidence?}` |
| `repair` | how it is repaired, see below |
| `rule` | `domain@version#Type.field`, or a rule's id |
| `fingerprint` | the same for the same problem at the same kind of place, whatever the position |

`where` is a JSON pointer into the delta. What was received is cut at 200 characters; sensitive values are masked. The
text of `fix_hint` is the hint. Its patch is JSON Patch (RFC 6902) on the submitted delta; it is there only when one
repair is plain (`exact` or `likely`), and the server never applies it.

A rejection names only what its writer may read or write something of, as `GET /schema/types/TYPE` shows it: a hidden
type, field or state is answered like one that does not exist, and of a record no value is told, and nobody's change of
it, that the writer may not read. Where only what is hidden stands against an operation, it is `forbidden_type` and says
no more.

Three forms carry the same objects: `application/problem+json` (`errors[]`, each with a `pointer`), the text of a tool's
error (verdict and attempts left first, then at most twelve lines, then the fields of the types concerned), and lines in
a terminal.

"""


TABLE = "| code | group | HTTP | repair | what it means |\n|---|---|---|---|---|\n"


def page() -> str:
    ways = "| repair | to do |\n|---|---|\n" + "".join(f"| `{way}` | {hint} |\n" for way, hint in HINTS.items())
    rows = "".join(f"| `{c}` | {k.group} | {k.status} | {k.repair} | {k.meaning} |\n" for c, k in CODES.items())
    note = "\n`fix` replaces `reread` where the delta contradicts itself.\n\n"
    note += "This page is written from `ukai/gate/codes.py` by "
    run = "`UKAI_WRITE_DOCS=1 pytest tests/gate/static/test_pages.py`.\n\n"
    return HEAD + ways + note + run + TABLE + rows


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / name).read_text(encoding="utf-8"), re.DOTALL)


def bakery() -> Catalogue:
    domain, findings = domain_file.read(blocks("domain.md", "yaml")[0].encode(), name="bakery.yaml")
    assert findings == []
    assert domain is not None
    return Catalogue([domain])


def test_the_page_of_rejections_is_the_table_of_codes():
    if os.environ.get("UKAI_WRITE_DOCS"):
        REJECTIONS.write_text(page(), encoding="utf-8")

    assert REJECTIONS.read_text(encoding="utf-8") == page()


def test_the_delta_of_its_page_fits_the_domain_of_its_page():
    delta, rejections = door.read(blocks("delta.md", "json")[0])
    assert delta is not None, rejections

    verdict = shape.check(delta, bakery(), author=AUTHOR, now=NOW, context={"subject_node_id": "Recipe#plain"})

    assert verdict.rejections == ()


def test_the_contract_and_the_workflow_of_their_page_are_read():
    found, findings = contract.read(json.loads(blocks("contract.md", "json")[0]))
    assert (found is not None, findings) == (True, [])

    flow, more = workflow.read(blocks("contract.md", "yaml")[0].encode(), bakery(), name="rate-recipe.yaml")

    assert more == []
    assert flow is not None
