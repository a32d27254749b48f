"""`ukai ingest CONNECTOR.. | --all`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command()
def ingest(
    connectors: Annotated[list[str] | None, typer.Argument(help="Connectors by name.", show_default=False)] = None,
    every: Annotated[bool, typer.Option("--all", help="All connectors of the workspace.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Judge every row, write nothing.")] = False,
    due: Annotated[bool, typer.Option("--due", help="Those whose `schedule` is due and that nobody pulled.")] = False,
    planned: Annotated[
        bool, typer.Option("--planned", help="Show when each was pulled by itself, and will be.")
    ] = False,
    waiting: Annotated[
        bool, typer.Option("--waiting", help="Pull nothing: embed the texts that wait, whoever wrote them.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Ask for everything again, not only for what is new.")] = False,
    embed: output.Embed = True,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
    quiet: output.Quiet = False,
) -> None:
    """Bring in what other systems know, through the gate, row by row. What does not fit waits in quarantine.

    Ends with 1 when a row was refused, or a source could not be read to its end. `schedule:` of a connector says when
    `ukai serve` pulls it.
    """
    from ukai.app import ingest as app_

    if sum((bool(connectors), every, due, planned, waiting)) != 1 or (not (connectors or every) and (full or dry_run)):
        raise typer.BadParameter(
            "name connectors, or say --all, --due, --planned or --waiting; --full and --dry-run go with names"
        )
    if waiting:
        _waiting(workspace, as_json=as_json, quiet=quiet)
        return
    if due or planned:
        _by_itself(workspace, due=due, embed=embed, as_json=as_json, quiet=quiet)
        return
    pulled = app_.run(
        workspace, connectors or (), full=full, dry_run=dry_run, progress=output.live(quiet=quiet or as_json)
    )
    reports, findings = asyncio.run(pulled)
    documents = [r.as_json() for r in reports]
    text = "\n".join([*(_told(d) for d in documents), output.findings_text(findings)]).strip()
    output.emit({"pulls": documents, "findings": [f.as_json() for f in findings]}, as_json=as_json, text=text)
    if embed and not dry_run:
        output.embed(workspace, as_json=as_json, quiet=quiet)
    if findings or any(r.is_failed or r.counts.get("refused") for r in reports):
        raise typer.Exit(output.REFUSED)


def _waiting(workspace: Path, *, as_json: bool, quiet: bool) -> None:
    from ukai.app import following

    said = asyncio.run(following.caught_up(workspace, output.live(quiet=quiet or as_json)))
    output.emit({"said": said}, as_json=as_json, text=said or "every text has its vector")
    if said and said != following.ELSEWHERE:
        raise typer.Exit(output.REFUSED)


def _by_itself(workspace: Path, *, due: bool, embed: bool, as_json: bool, quiet: bool) -> None:
    from ukai.app import pulls

    if due:
        found, findings = asyncio.run(pulls.run(workspace, progress=output.live(quiet=quiet or as_json)))
    else:
        found, findings = asyncio.run(pulls.shown(workspace)), []
    text = "\n".join([*map(str, found), output.findings_text(findings)]).strip()
    documents = [p.as_json() for p in found]
    output.emit(
        {"planned": documents, "findings": [f.as_json() for f in findings]},
        as_json=as_json,
        text=text or "no connector has a schedule",
    )
    if due and embed:
        output.embed(workspace, as_json=as_json, quiet=quiet)
    if findings or any(p.alert for p in found):
        raise typer.Exit(output.REFUSED)


def _told(report: dict[str, Any]) -> str:
    counts = dict(report["counts"])
    line = f"{report['connector']}: {counts.pop('read')} rows read"
    is_dry = report["status"] == "valid"
    changes = [f"{n} {_planned(name) if is_dry else name.replace('_', ' ')}" for name, n in counts.items() if n]
    lines = [", ".join([line, *changes]) + (" (dry run)" if is_dry else "")]
    if report["resumed"]:
        lines.append(f"  went on behind {report['resumed']} rows of a pull that was cut off")
    lines += [f"  {f['where']}: {f['severity']} [{f['code']}] {f['message']}" for f in report["findings"]]
    lines += [f"  {r['place']}: [{', '.join(r['codes'])}] {r['message']}" for r in report["refused"]]
    more = counts.get("refused", 0) - len(report["refused"])
    if counts.get("refused") and not is_dry:
        shown = f"{more} more. " if more > 0 else ""
        lines.append(f"  {shown}They wait: ukai quarantine list --connector {report['connector']}")
    return "\n".join(lines)


def _planned(count: str) -> str:
    """Of a dry run: what would happen, which nobody may take for something that did."""
    what, _, done = count.rpartition("_")
    plan = {"created": "to create", "updated": "to update", "deleted": "to delete"}.get(done)
    return f"{what} {plan}" if plan else count.replace("_", " ")
