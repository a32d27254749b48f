"""`ukai run show | list`."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Saved runs.")


@app.command()
def show(
    run_id: Annotated[str, typer.Argument(help="As `ukai ask` and `ukai run list` print it.")],
    workspace: output.Workspace = output.HERE,
    principal: output.As = None,
    as_json: output.Json = False,
) -> None:
    """One run: answer, sources, every call."""
    from ukai.app import ask, run

    found = asyncio.run(run.show(workspace, run_id, principal=principal))
    asked = found.run
    head = f"{asked.agent} asked by {asked.principal} at {asked.started_at.isoformat()}\n{asked.question}\n"
    output.emit(found.as_json(), as_json=as_json, text=f"{head}\n{ask.shown(found, again=True)}")


@app.command("list")
def listed(
    workspace: output.Workspace = output.HERE,
    principal: output.As = None,
    after: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=500)] = 20,
    as_json: output.Json = False,
) -> None:
    """Runs that you may read, newest first."""
    from ukai.app import run

    page = asyncio.run(run.listed(workspace, principal=principal, after=after, limit=limit))
    rows = [f"{r['run_id']}  {r['started_at']}  {r['agent']:<16} {r.get('status') or 'running'}" for r in page["runs"]]
    more = [f"more: --after {page['after']}"] if page["after"] else []
    output.emit(page, as_json=as_json, text="\n".join([*rows, *more]) or "no runs")
