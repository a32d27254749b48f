"""`ukai token create | list | revoke`: how a program shows who it asks for."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Personal tokens.")


@app.command()
def create(
    name: Annotated[str, typer.Option("--name", help="Where it is used: laptop, open-webui.")],
    days: Annotated[int, typer.Option("--days", help="How long it is in force.")] = 90,
    workspace: output.Workspace = output.HERE,
    principal: output.As = None,
    as_json: output.Json = False,
) -> None:
    """Make one. It is shown this once, and kept nowhere."""
    from ukai.app import tokens

    made = asyncio.run(tokens.at(workspace, principal, lambda desk: tokens.create(desk, name, days=days)))
    text = f"{made['token']}\n{_line(made)}\nkeep it where the program keeps secrets: it cannot be shown again"
    output.emit(made, as_json=as_json, text=text)


@app.command("list")
def listed(
    workspace: output.Workspace = output.HERE, principal: output.As = None, as_json: output.Json = False
) -> None:
    """Yours, newest first."""
    from ukai.app import tokens

    found = asyncio.run(tokens.at(workspace, principal, tokens.listed))
    output.emit({"tokens": found}, as_json=as_json, text="\n".join(map(_line, found)) or "no tokens")


@app.command()
def revoke(
    id: Annotated[str, typer.Argument(help="As `ukai token list` shows it.")],
    workspace: output.Workspace = output.HERE,
    principal: output.As = None,
    as_json: output.Json = False,
) -> None:
    """End one at once."""
    from ukai.app import tokens

    done = asyncio.run(tokens.at(workspace, principal, lambda desk: tokens.revoke(desk, id)))
    output.emit(done, as_json=as_json, text=f"revoked: {done['id']}")


def _line(token: dict[str, Any]) -> str:
    used = f"used {token['used_at']:%Y-%m-%d}" if token["used_at"] else "never used"
    state = token.get("state", "in force")
    return (
        f"{token['id']}  {state}  until {token['expires_at']:%Y-%m-%d}  {used}  {token['principal']}  {token['name']}"
    )
