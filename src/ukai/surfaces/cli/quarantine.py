"""`ukai quarantine list | show | retry | drop`."""

from __future__ import annotations

import asyncio
from typing import Annotated
from uuid import UUID

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Rows that could not be brought in.")

Connector = Annotated[str, typer.Option("--connector", help="Of this connector only.", show_default=False)]
Ids = Annotated[list[UUID] | None, typer.Argument(help="Ids of rows.", show_default=False)]


@app.command(name="list")
def list_(
    connector: Connector = "",
    code: Annotated[str, typer.Option("--code", help="Refused for this reason.", show_default=False)] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many are shown.")] = 100,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """What waits, and why."""
    from ukai.app import ingest

    found = asyncio.run(ingest.listed(workspace, connector=connector, code=code, limit=limit))
    waiting = [{"connector": c, "code": code, "rows": n} for c, code, n in found.waiting]
    document = {"rows": [ingest.as_json(h) for h in found.rows], "waiting": waiting}
    lines = [f"{h.id}  {h.place}  [{', '.join(h.codes)}] {ingest.as_json(h)['message']}" for h in found.rows]
    lines += [f"{w['connector']}: {w['rows']} for {w['code']}" for w in waiting]
    output.emit(document, as_json=as_json, text="\n".join(lines) or "nothing waits")


@app.command()
def show(
    id: Annotated[UUID, typer.Argument(help="The id of a row.")],
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """A row as it came, and everything that is wrong with it."""
    from ukai.app import ingest

    held = asyncio.run(ingest.show(workspace, id))
    told = [f"  {f['where']}: [{f['code']}] {f['message']}. {f['hint']}" for f in held.findings]
    lines = [f"{held.connector} {held.place}, {held.tries} times", held.source, *told]
    output.emit(ingest.as_json(held, whole=True), as_json=as_json, text="\n".join(lines))


@app.command()
def retry(
    ids: Ids = None,
    connector: Connector = "",
    every: Annotated[bool, typer.Option("--all", help="All that wait.")] = False,
    embed: output.Embed = True,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
    quiet: output.Quiet = False,
) -> None:
    """Propose rows again, under the connector and the domain as they are now. Ends with 1 while one of them waits."""
    from ukai.app import ingest

    if [bool(ids), bool(connector), every].count(True) != 1:
        raise typer.BadParameter("name rows, a connector, or say --all")
    progress = output.live(quiet=quiet or as_json)
    done, findings = asyncio.run(ingest.retry(workspace, connector=connector, ids=ids or (), progress=progress))
    left = done.tried - done.written
    document = {"tried": done.tried, "written": done.written, "left": left, "unreadable": done.unreadable}
    text = f"{done.tried} tried, {done.written} written, {left} still wait"
    text += f" ({done.unreadable} of them are no rows: repair their source)" if done.unreadable else ""
    told = output.findings_text(findings)
    output.emit(
        {**document, "findings": [f.as_json() for f in findings]},
        as_json=as_json,
        text=f"{told}\n{text}" if told else text,
    )
    if embed and done.written:
        output.embed(workspace, as_json=as_json, quiet=quiet)
    if left or findings:
        raise typer.Exit(output.REFUSED)


@app.command()
def drop(
    ids: Ids = None,
    connector: Connector = "",
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """Let go of rows for good."""
    from ukai.app import ingest

    if bool(ids) == bool(connector):
        raise typer.BadParameter("name rows or a connector")
    count = asyncio.run(ingest.drop(workspace, connector=connector, ids=ids or ()))
    output.emit({"dropped": count}, as_json=as_json, text=f"{count} dropped")
