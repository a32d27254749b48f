"""`ukai connect TOOL`."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command()
def connect(
    tool: Annotated[str | None, typer.Argument(help="The tool's name; none lists what is connected.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Forget the credential.")] = False,
    workspace: output.Workspace = output.HERE,
    principal: output.As = None,
    as_json: output.Json = False,
) -> None:
    """Give a tool your own credential for it: it is read from the terminal, or from a pipe, and kept encrypted."""
    from ukai.app import connect as verb

    if tool is None:
        found = asyncio.run(verb.listed(workspace, principal=principal))
        lines = [f"{t['tool']} since {t['since']:%Y-%m-%d}" for t in found["tools"]]
        output.emit(found, as_json=as_json, text="\n".join(lines) or "nothing is connected")
        return
    if remove:
        done = asyncio.run(verb.drop(workspace, tool, principal=principal))
        output.emit(done, as_json=as_json, text=f"{tool} is not connected for {done['principal']} any more")
        return
    # Never as an argument: those stand in the shell's history and in the list of processes.
    secret = typer.prompt("Credential", hide_input=True) if sys.stdin.isatty() else sys.stdin.readline().strip()
    if not secret:
        raise typer.BadParameter("the credential is empty")
    done = asyncio.run(verb.keep(workspace, tool, secret, principal=principal))
    output.emit(done, as_json=as_json, text=f"{tool} is connected for {done['principal']}")
