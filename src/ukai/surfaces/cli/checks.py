"""`ukai checks list | run | score | import`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False, no_args_is_help=True)
WORST = 5
"""Runs that a summary names."""
INSTANTS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%z"]


@app.callback()
def _checks() -> None:  # pyright: ignore[reportUnusedFunction]
    """What code can decide about answers, without a model."""


@app.command("list")
def listed(as_json: output.Json = False) -> None:
    """Every check, and what it decides."""
    from ukai.app import checks

    rows = checks.listed()
    text = "\n".join(f"{row['check']:<18} {'+'.join(row['over']):<10} {row['decides']}" for row in rows)
    output.emit({"checks": rows}, as_json=as_json, text=text)


@app.command()
def run(
    ids: Annotated[list[str] | None, typer.Argument(help="Runs; without any, the newest.", show_default=False)] = None,
    check: Annotated[str, typer.Option(help="Checks, separated by commas, or all.")] = "all",
    agent: Annotated[str | None, typer.Option(help="Only runs of this agent.", show_default=False)] = None,
    case: Annotated[str | None, typer.Option(help="Only runs of this case.", show_default=False)] = None,
    since: Annotated[datetime | None, typer.Option(formats=INSTANTS, help="Started then or later.")] = None,
    until: Annotated[datetime | None, typer.Option(formats=INSTANTS, help="Started before then.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many runs.")] = 1_000,
    as_principal: output.As = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """Weigh saved runs. Ends with 1 when something counts against one of them."""
    from ukai.app import checks

    wanted = checks.wanted(ids=ids or (), agent=agent, case=case, since=since, until=until, limit=limit)
    document = asyncio.run(checks.weighed(workspace, check, wanted, principal=as_principal))
    output.emit(document, as_json=as_json, text="\n".join(_told(document)))
    if document["flagged"] or document.get("findings"):
        raise typer.Exit(output.REFUSED)


@app.command()
def score(
    check: Annotated[str, typer.Argument(help="A check, or several separated by commas.")],
    records: Annotated[Path, typer.Option("--records", help="JSON lines: id, question, evidence, answer, label?")],
    as_json: output.Json = False,
) -> None:
    """Weigh records from outside; with labels, say how well the flags agree with them."""
    from ukai.app import checks

    document = checks.score(check, records)
    output.emit(document, as_json=as_json, text="\n".join(_scored(document)))
    if document.get("findings"):
        raise typer.Exit(output.REFUSED)


@app.command("import")
def import_(
    source: Annotated[Path, typer.Argument(help="Spans (OTLP JSON) or a log of Inspect (JSON).")],
    format: Annotated[str, typer.Option("--from", help="otel or inspect.")],
    out: Annotated[Path, typer.Option(help="Where the runs go, as JSON lines.")],
    as_json: output.Json = False,
) -> None:
    """Read other people's runs, so that `score` can weigh them."""
    from ukai.app import checks

    lines, findings = checks.imported(source, format)
    if findings:
        raise output.refused(findings, as_json=as_json)
    out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    output.emit({"runs": len(lines), "file": str(out)}, as_json=as_json, text=f"{len(lines)} runs in {out}")


def _scored(document: dict[str, Any]) -> Iterator[str]:
    for row in document["per_record"]:
        for flag in row["flags"]:
            yield from _flag(row["id"], flag)
    for group in document.get("groups", []):
        yield from _group(group)
    flagged = sum(row["flagged"] for row in document["per_record"])
    yield f"{document['records']} records, {flagged} flagged by {document['check']}"
    for name in ("precision", "recall", "false_alarm_rate"):
        if name in document:
            share = document[name]
            value = "-" if share["value"] is None else f"{share['value']:.4f}"
            yield f"{name:<18} {value}  [{share['low']:.4f}, {share['high']:.4f}]  {share['hits']} of {share['of']}"
    yield from (f"not read: {f['where']}: {f['message']}" for f in document.get("findings", []))


def _told(document: dict[str, Any]) -> Iterator[str]:
    """One run in full; of several a line for each check, worst first, and where to look."""
    yield from _summary(document["scores"]) if document["runs"] > 1 else _each(document)
    yield f"{document['runs']} runs weighed, {document['flagged']} flagged"
    yield from _worst(document["scores"]) if document["runs"] > 1 else ()
    yield from (f"not read: {f['where']}: {f['message']}" for f in document.get("findings", []))


def _summary(scores: Sequence[dict[str, Any]]) -> Iterator[str]:
    by_check: dict[str, list[dict[str, Any]]] = {}
    for one in scores:
        by_check.setdefault(one["check"], []).append(one)
    rows = [(sum(one["flagged"] for one in own), _kinds(own), name, own) for name, own in by_check.items()]
    for flagged, kinds, name, own in sorted(rows, key=lambda r: (-r[0], -r[1].total(), r[2])):
        unable = sum("unable" in one for one in own)
        told = [f"{kind} {count}" for kind, count in sorted(kinds.items(), key=_gating_first)]
        told += [f"{unable} not made"] if unable else []
        yield f"{name:<18} {flagged:>4} of {len(own) - unable:>4} flagged  {', '.join(told)}".rstrip()


def _kinds(scores: Sequence[dict[str, Any]]) -> Counter[str]:
    """What was found, with `!` where it counts against a run."""
    return Counter(f"{'!' if flag['gates'] else ''}{flag['kind']}" for one in scores for flag in one["flags"])


def _gating_first(kind: tuple[str, int]) -> tuple[bool, int, str]:
    return not kind[0].startswith("!"), -kind[1], kind[0]


def _worst(scores: Sequence[dict[str, Any]]) -> Iterator[str]:
    counted = Counter[str]()
    for one in scores:
        if len(one["about"]) == 1:
            counted[one["about"][0]] += sum(flag["gates"] for flag in one["flags"])
    for run, count in counted.most_common(WORST):
        if count:
            yield f"  {run}: {count} against it"
    yield "`ukai checks run RUN` tells all of one run, --json all of all."


def _each(document: dict[str, Any]) -> Iterator[str]:
    for one in document["scores"]:
        if len(one["about"]) > 1 or "details" in one:
            yield from _group(one)
        for flag in one["flags"]:
            yield from _flag(f"{one['about'][0]} {one['check']}", flag)
        if "unable" in one:
            yield f"{one['about'][0]} {one['check']}: not made: {one['unable']}"


def _flag(about: str, flag: dict[str, Any]) -> Iterator[str]:
    mark = "!" if flag["gates"] else "-"
    place = f"{flag['part']} {flag['start']}-{flag['end']}"
    yield f"{mark} {about}: {flag['kind']} {flag['words']!r} ({place}): {flag['note']}"
    if flag["sentence"]:
        yield f"    in: {flag['sentence'][:200]}"
    if flag["looked"]:
        yield "    looked at: " + "; ".join(f"{look['key']} {look['words']!r}" for look in flag["looked"])


def _group(one: dict[str, Any]) -> Iterator[str]:
    yield f"{one['check']} over {len(one['about'])}: " + ", ".join(f"{k} {v}" for k, v in one["counts"].items())
