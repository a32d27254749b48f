"""Nodes, edges and their history are written by the commit function, and beside it by `gate/rows/` alone (W3)."""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "ukai"
WRITERS = "gate/rows/"
TABLES = "node|edge|change|change_text|commit|claim|idempotency|attempt|domain|domain_version|node_type|edge_type|feed"
WRITES = re.compile(
    rf"\b(insert\s+into|update|delete\s+from|truncate|copy)\s+(only\s+)?(public\.)?(\"?)({TABLES})\4(?=[\s(;\"']|$)",
    re.IGNORECASE,
)
MIGRATIONS = "store/migrations/versions/"


def offenders(source: Path) -> list[str]:
    found: list[str] = []
    for file in sorted(source.rglob("*.py")):
        name = file.relative_to(source).as_posix()
        if name.startswith((WRITERS, MIGRATIONS)):
            continue
        text = file.read_text("utf-8")
        found += [f"{name}:{text.count(chr(10), 0, m.start()) + 1}: {m.group()}" for m in WRITES.finditer(text)]
    return found


def test_no_module_but_the_gates_rows_writes_the_graph_or_its_history():
    assert offenders(SOURCE) == []


def test_a_writer_beside_the_gate_is_noticed(tmp_path: Path):
    (tmp_path / "sneaky.py").write_text(
        'SQL = """\n  INSERT INTO node (id) values (%s)"""\nx = "update edge set alive = false"\n'
    )

    assert offenders(tmp_path) == ["sneaky.py:2: INSERT INTO node", "sneaky.py:3: update edge"]
