"""`ukai bench lint`: how long a workspace of 50 agents, 54 tools and 45 guardrails takes to lint, cold (P1.10, X6).

Options: `--agents`, `--tools`, `--guardrails`, `--words` (of all tool definitions), `--seed`, `--repeats`. Everything
is generated from the seed. A run is a process of its own, so that imports count; the median is told.
"""

from __future__ import annotations

import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from ukai.app.bench import Report

_WORDS = ("account", "renewal", "seller", "usage", "trend", "ticket", "call", "owner", "stage", "deal", "risk", "plan")
_WORDS += ("invoice", "region", "quarter", "pricing", "evidence", "review", "note", "outcome", "signal", "adoption")


def run(options: Mapping[str, str]) -> Report:
    """Generate, lint in fresh processes, report CPU and wall time."""
    numbers = {k: int(options.get(k, v)) for k, v in _DEFAULTS.items()}
    with tempfile.TemporaryDirectory(prefix="ukai-bench-") as folder:
        root = Path(folder)
        generate(root, **{k: v for k, v in numbers.items() if k != "repeats"})
        rows = [_once(root) for _ in range(numbers["repeats"])]
    cpu, wall, findings, files = (statistics.median(column) for column in zip(*rows, strict=True))
    return Report(
        figures={"cpu_s": cpu, "wall_s": wall, "findings": findings, "files": files, **numbers},
        notes=("each run is a new process: imports are counted",),
    )


_DEFAULTS = {"agents": 50, "tools": 54, "guardrails": 45, "words": 8000, "seed": 7, "repeats": 5}


def _once(root: Path) -> tuple[float, float, float, float]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "ukai", "lint", str(root), "--json"], capture_output=True, check=False, env=os.environ
    )
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = json.loads(done.stdout)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, float(len(told["findings"])), float(told["files"])


def generate(root: Path, *, agents: int, tools: int, guardrails: int, words: int, seed: int) -> None:
    """A workspace that lints clean, the same for the same numbers."""
    rng = random.Random(seed)
    names = [f"{rng.choice(_WORDS)}-coach-{i}" for i in range(agents)]
    tool_names = [f"{rng.choice(_WORDS)}_{rng.choice(_WORDS)}_{i}" for i in range(tools)]
    _write(root / "ukai.yaml", "company: bench\nlocal_principal: ann@example.com\n")
    aliases = '{"<medium-frontier-model>": extractive, "<small-fast-model>": extractive}'
    _write(root / "models.yaml", f"aliases: {aliases}\n")
    _access(root, names)
    for family in ("coach", "analyst", "desk"):
        _write(
            root / f"families/{family}/FAMILY.md",
            f"---\nname: {family}\nfield_policy: commercial_only\n---\n\n{_prose(rng, 200)}",
        )
    for start in range(0, tools, 9):
        _write(root / f"tools/part_{start // 9}.py", _tools(rng, tool_names[start : start + 9], words // max(tools, 1)))
    for name in names:
        _agent(root, rng, name, tool_names)
    for i in range(guardrails):
        _guardrail(root, rng, f"rule-{i}", names)


def _agent(root: Path, rng: random.Random, name: str, tools: list[str]) -> None:
    excluded = ", ".join(sorted(rng.sample(tools, 6)))
    _write(
        root / f"agents/{name}/SKILL.md",
        f"---\nname: {name}\ndescription: {_sentence(rng)}\nmodel: <medium-frontier-model>\nmax_iterations: 30\n"
        f"channels: [slack, cli]\n\nfamily: {rng.choice(('coach', 'analyst', 'desk'))}\n"
        f"scope_bound_retrieval: strict\nfield_policy: commercial_only\n\ntools:\n  exclude: [{excluded}]\n---\n\n"
        + _prose(rng, 400),
    )
    _write(
        root / f"agents/{name}/reports/brief.md",
        '---\nname: brief\ncron: "0 8 * * 1-5"\ntimezone: Europe/Berlin\nrun_as: each_recipient\noutputs:\n'
        f'  - type: slack\n    channel: "C{rng.randrange(10**6)}"\n---\n\n{_sentence(rng)}\n',
    )


def _guardrail(root: Path, rng: random.Random, name: str, agents: list[str]) -> None:
    _write(
        root / f"guardrails/{name}.md",
        f"---\nid: {name}\nversion: 1\ntitle: {_sentence(rng)}\nstage: output\nverdict_type: block\n"
        f"model: <small-fast-model>\napplies_to: [{', '.join(sorted(rng.sample(agents, min(5, len(agents)))))}]\n"
        f"failure_policy: closed\n---\n\n{_prose(rng, 120)}",
    )


def _access(root: Path, agents: list[str]) -> None:
    lines = "".join(
        f"  - {{id: p{i}, allow: invoke, agents: [{a}], to: ['group:sellers']}}\n" for i, a in enumerate(agents)
    )
    _write(root / "access/groups.yaml", "groups:\n  sellers: {members: [ann@example.com]}\n")
    _write(root / "access/policies.yaml", f"policies:\n{lines}")
    _write(root / "access/budgets.yaml", "budgets:\n  - {to: ['*'], per: run, usd: 1.5}\n")
    _write(root / "access/field_policies/commercial_only.yaml", "version: 1\nallow: {Account: [name, owner]}\n")


def _tools(rng: random.Random, names: list[str], words: int) -> str:
    parts = [f"def {n}(query: str, limit: int = 10) -> str:\n    return json.dumps([query, limit])\n\n" for n in names]
    declared = ",\n".join(
        f'    {{"name": "{n}", "description": "{_words(rng, max(words - 12, 5))}.",\n'
        '     "input_schema": {"type": "object", "properties": {"query": {"type": "string"},\n'
        '                      "limit": {"type": "integer"}}, "required": ["query"]}}'
        for n in names
    )
    handlers = ", ".join(f'"{n}": {n}' for n in names)
    return "".join(parts) + f"TOOLS = [\n{declared},\n]\n\nHANDLERS = {{{handlers}}}\n"


def _words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(count)).capitalize()


def _sentence(rng: random.Random) -> str:
    return _words(rng, 14) + "."


def _prose(rng: random.Random, words: int) -> str:
    return "\n\n".join(_sentence(rng) for _ in range(max(words // 14, 1))) + "\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
