"""Small workspaces with defaults."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ukai import catalog
from ukai.kit.finding import Finding
from ukai.runtime.tools import ToolSpec

MODELS = 'aliases: {"<medium-frontier-model>": extractive, "<small-fast-model>": extractive}\n'
COMMERCIAL = "version: 1\nallow: {Account: [name, owner, stage]}\n"


def agent(name: str = "coach", *lines: str, body: str = "You help the seller who asks.\n") -> str:
    """An agent's SKILL.md; `lines` go into its front matter."""
    head = "".join(f"{line}\n" for line in (f"name: {name}", "description: Helps.", *lines))
    return f"---\n{head}---\n\n{body}"


def guardrail(name: str = "rule", *lines: str, body: str = "Fire on discounts.\n") -> str:
    """A guardrail; `lines` replace the default target when they name one."""
    target = () if any(x.startswith("applies_to") for x in lines) else ("applies_to: ['*']",)
    head = "".join(f"{x}\n" for x in (f"id: {name}", "stage: output", "verdict_type: block", *target, *lines))
    return f"---\n{head}---\n\n{body}"


def report(name: str = "brief", *lines: str, body: str = "What changed?\n") -> str:
    """A report that fires."""
    defaults = {
        "cron": 'cron: "0 8 * * *"',
        "run_as": "run_as: owner",
        "outputs": "outputs: [{type: file, path: a.md}]",
    }
    kept = [v for k, v in defaults.items() if not any(x.startswith(k) for x in lines)]
    head = "".join(f"{x}\n" for x in (f"name: {name}", *kept, *lines))
    return f"---\n{head}---\n\n{body}"


def skill(name: str = "map", *lines: str, body: str = "Draw the map.\n") -> str:
    """A nested skill."""
    head = "".join(f"{x}\n" for x in (f"name: {name}", "description: Draws.", *lines))
    return f"---\n{head}---\n\n{body}"


def tool(name: str) -> ToolSpec:
    """A tool of the product."""
    return ToolSpec(name=name, description="Finds.", input_schema={"type": "object", "properties": {}})


PROVIDED = {name: tool(name) for name in ("search_records", "read_record", "query_usage")}


def tree(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files and nothing else."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def workspace(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """A workspace with models and a field policy around `files`."""
    defaults = {
        "ukai.yaml": "company: test\n",
        "models.yaml": MODELS,
        "access/field_policies/commercial_only.yaml": COMMERCIAL,
    }
    return tree(root, {**defaults, **files})


def load(root: Path, **options: object) -> catalog.Loaded:
    """The catalog with three tools of the product."""
    return catalog.load(root, provided=PROVIDED, **options)  # type: ignore[arg-type]


def told(findings: list[Finding] | tuple[Finding, ...]) -> list[tuple[str, str, str]]:
    """(severity, code, where) of each."""
    return [(f.severity, f.code, f.where) for f in findings]


def only(loaded: catalog.Loaded, code: str) -> Finding:
    """The one finding with this code."""
    found = [f for f in loaded.findings if f.code == code]
    assert len(found) == 1, [str(f) for f in loaded.findings]
    return found[0]
