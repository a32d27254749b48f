"""A sample company into a workspace's database: its domains, then its records, through the gate and in bulk."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ukai import gate
from ukai.app.engine import Engine, Progress
from ukai.gate import domains, rights
from ukai.gate.author import Author
from ukai.kit.errors import PermanentError

INTAKE = Author(kind="connector", id="service:intake")
PROGRAM = "generate"
BATCH = 200
"""Records of one delta."""


class NotTaken(PermanentError):
    """The gate refused a part of the company: its generator and its domains disagree, or the database holds others."""

    hint = "Start from an empty database: remove the workspace's .ukai folder"


async def enter(
    opened: Engine,
    *,
    progress: Progress,
    accounts: int | None = None,
    seed: int | None = None,
    canary: str | None = None,
    density: float | None = None,
) -> int:
    """Let the company of the workspace enter; how many records it has. A second time nothing changes.

    The options are those of the generator: `canary` is put into everything restricted, `density` scales the texts.

    Raises NotTaken, and PermanentError for a workspace without a generator.
    """
    for domain in opened.catalog.domains.values():
        done = await domains.upload(opened.db, domain, author=INTAKE, at=opened.clock.now())
        if done.domain is None:
            raise NotTaken(f"the domain {domain.domain!r} is refused: {done.findings[0]}")
    program = _generator(opened.root)
    given = {"accounts": accounts, "seed": seed, "canary": canary, "density": density}
    options = {k: v for k, v in given.items() if v is not None}
    count = 0
    for delta in _deltas(program, options):
        outcome = await gate.submit(opened.db, delta, author=INTAKE, rights=rights.ALL, clock=opened.clock)
        if isinstance(outcome, gate.Rejected):
            raise NotTaken(f"a delta is refused: {outcome.rejections[0]}")
        count += sum(1 for op in delta["ops"] for _ in op.get("items", [op]) if "edge_type" not in op)
        progress(f"records entered through the gate: {count}")
    return count


def _deltas(program: Any, options: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    return program.deltas(program.records(**options), BATCH)


def _generator(root: Path) -> Any:
    """The package `generate` of the workspace: code of the example, run because it was asked for."""
    folder = root / PROGRAM
    if not (folder / "__init__.py").is_file():
        raise PermanentError(f"{root.name} has no generator", hint="Only the example workspaces bring one")
    name = f"ukai_example_{root.name.replace('-', '_')}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
