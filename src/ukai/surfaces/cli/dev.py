"""`ukai dev`: serve, and let every saved file count from the next question on."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command()
def dev(
    ctx: typer.Context,
    port: Annotated[int, typer.Option("--port", envvar="UKAI_PORT", min=0, max=65535, help="0 takes a free one.")] = (
        8300
    ),
    slack: Annotated[bool, typer.Option("--slack", help="Answer in Slack too, over socket mode.")] = False,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """Serve on this machine while you write: a turn keeps the files it began with, the next one has the new ones."""
    if ctx.obj is None:
        raise typer.BadParameter("this command line was started without a server")

    def ready(url: str) -> None:
        output.emit({"url": url}, as_json=as_json, text=f"serving {url}/ and watching {workspace.resolve()}")
        sys.stdout.flush()  # nothing more comes for a long time, and somebody may wait for this line

    def changed(what: str) -> None:
        sys.stderr.write(output.visible(f"{what}\n"))

    ctx.obj(workspace, host="127.0.0.1", port=port, ready=ready, slack=slack, schedules=False, changed=changed)
