"""`ukai serve`. What serves is handed in by `ukai.__main__`: it stands above the surfaces, of which this is one."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command()
def serve(
    ctx: typer.Context,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")] = 8300,
    host: Annotated[str, typer.Option("--host", help="An address of this machine only: there is no login yet.")] = (
        "127.0.0.1"
    ),
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """Answer over HTTP as the local principal of ukai.yaml, on this machine only."""
    if ctx.obj is None:
        raise typer.BadParameter("this command line was started without a server")

    def ready(url: str) -> None:
        output.emit({"url": url}, as_json=as_json, text=f"serving {url} (openapi: {url}/openapi.json)")
        sys.stdout.flush()  # nothing more comes for a long time, and somebody may wait for this line

    ctx.obj(workspace, host=host, port=port, ready=ready)
