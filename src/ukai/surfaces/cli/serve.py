"""`ukai serve`. What serves is handed in by `ukai.__main__`: it stands above the surfaces, of which this is one."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


class Log(StrEnum):
    """How much the log tells."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@app.command()
def serve(
    ctx: typer.Context,
    port: Annotated[
        int, typer.Option("--port", envvar="UKAI_PORT", min=0, max=65535, help="0 takes a free one.")
    ] = 8300,
    host: Annotated[
        str,
        typer.Option(
            "--host", envvar="UKAI_HOST", help="An address; one that others reach needs `login:` in ukai.yaml."
        ),
    ] = "127.0.0.1",
    stdio: Annotated[bool, typer.Option("--stdio", help="MCP over standard input and output, for one client.")] = False,
    slack: Annotated[
        bool, typer.Option("--slack", envvar="UKAI_SLACK", help="Answer in Slack too; docs/howto/slack.md.")
    ] = False,
    schedules: Annotated[
        bool,
        typer.Option("--schedules/--no-schedules", envvar="UKAI_SCHEDULES", help="Start what is due by itself."),
    ] = True,
    log: Annotated[
        Log, typer.Option("--log", envvar="UKAI_LOG", help="info has a line for each request; on stderr.")
    ] = Log.INFO,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """Answer over HTTP: the web page, the API, the OpenAI-compatible endpoint and MCP.

    Without a login in ukai.yaml it answers as the local principal, on this machine only. SKILL_NAME serves one agent.
    Files are read once: restart it after a change of access/ or of any other; its log says when one is due.
    """
    if ctx.obj is None:
        raise typer.BadParameter("this command line was started without a server")
    if stdio:
        ctx.obj(workspace)
        return

    def ready(url: str) -> None:
        output.emit(
            {"url": url},
            as_json=as_json,
            text=f"serving {url}/ (API: {url}/openapi.json, chat clients: {url}/v1, MCP: {url}/mcp)",
        )
        sys.stdout.flush()  # nothing more comes for a long time, and somebody may wait for this line

    ctx.obj(workspace, host=host, port=port, ready=ready, slack=slack, schedules=schedules, log=log)
