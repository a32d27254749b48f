"""`ukai access explain PRINCIPAL [AGENT [RECORD[/FIELD]]]`, `ukai access refusals`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def _access() -> None:  # pyright: ignore[reportUnusedFunction]
    """Who may do what, and why."""


@app.command()
def explain(
    principal: Annotated[str, typer.Argument(help="ann@example.com, group:x, service:x or public.")],
    agent: Annotated[
        str | None, typer.Argument(help="The agent's name; without one, all that they may do.", show_default=False)
    ] = None,
    record: Annotated[str | None, typer.Argument(help="Type#key, or Type#key/field.", show_default=False)] = None,
    file: Annotated[
        Path | None, typer.Option("--record", help="A JSON file that holds the record.", show_default=False)
    ] = None,
    audience: Annotated[
        list[str] | None, typer.Option("--audience", help="Who else reads the answer.", show_default=False)
    ] = None,
    channel: Annotated[str, typer.Option(help="The surface that is used.")] = "cli",
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """Show the decision, every policy that was considered, and what each would have needed to match."""
    from ukai.app import access

    if agent is None:
        if record or file or audience:
            raise typer.BadParameter("a record and an audience are asked about with an agent")
        found = access.overall(workspace, principal)
        output.emit(found, as_json=as_json, text="\n".join(_overall(found)))
        return
    asked = access.Asked(
        principal=principal, agent=agent, record=record, file=file, audience=audience or (), channel=channel
    )
    document = access.answer(workspace, asked).as_json()
    output.emit(document, as_json=as_json, text="\n".join(_lines(document)))


@app.command()
def refusals(
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many, newest first.")] = 50,
    as_: output.As = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """What servers refused before a run began: unknown people, bad tokens, too much at once. Needs `audit`."""
    import asyncio
    from dataclasses import asdict

    from ukai.app import audit

    found = asyncio.run(audit.listed(workspace, named=as_, limit=limit))
    lines = [f"{r.at:%Y-%m-%d %H:%M:%S} {r.surface} {r.code} {r.who} {r.about} {r.detail}".rstrip() for r in found]
    document = {"refusals": [asdict(r) for r in found]}
    output.emit(document, as_json=as_json, text="\n".join(lines) or "nothing was refused")


def _overall(found: dict[str, Any]) -> Iterator[str]:
    """Agents, rights, types: what is allowed first, and of each why."""
    known = ", ".join(found["groups"]) or "no group"
    yield f"{found['principal']}: {known if found['known'] else 'names nobody that access/ knows'}"
    yield from ("", "agents")
    for agent in found["agents"]:
        where = f" on {', '.join(agent['channels'])}" if agent["channels"] else ""
        yield f"{'+' if agent['allowed'] else '-'} {agent['agent']}{where}: {_why(agent['reason'], agent['agent'])}"
    yield from ("", "rights")
    yield from (f"{'+' if r['allowed'] else '-'} {r['right']}: {_why(r['reason'], 'here')}" for r in found["rights"])
    yield from ("", "by hand, of some record at most")
    for row in found["types"]:
        yield f"{row['type']}: reads {_of(row, 'reads')}; writes {_of(row, 'writes')}"
    yield from ("", f"ukai access explain {found['principal']} AGENT [RECORD] tells why, policy by policy")


def _why(reason: str, of: str) -> str:
    """Without "ann may not invoke helper: ", which the line says already."""
    return reason.rpartition(f" {of}: ")[2]


def _of(row: dict[str, Any], what: str) -> str:
    return "every field" if row["of"] == len(row[what]) > 0 else ", ".join(row[what]) or "nothing"


def _lines(document: dict[str, Any]) -> Iterator[str]:
    """The answer first, then what it rests on."""
    yield ("yes: " if document["allowed"] else "no: ") + document["reason"]
    denied = document["read"] if document["invoke"]["allowed"] else document["invoke"]
    if denied and not denied["allowed"]:
        yield from (f"  needed: {m}" for m in denied["missing"])
        yield f"  told to the caller: {denied['refusal']}"
    if document["tell"]:
        yield f"  a refusal may disclose: {', '.join(document['tell'])}"
    if document["fields"] is not None:
        yield f"  fields: {', '.join(document['fields']) or 'none'}"
    yield ""
    for member in document["audience"]:
        known = ", ".join(member["groups"]) or "no group"
        yield f"{member['id']}: {known if member['known'] else 'names nobody that access/ knows'}"
    yield f"field policies of {document['agent']}: {', '.join(document['field_policies']) or 'none, so every field'}"
    yield from (f"budget: {b['amount']:g} {b['unit']} a {b['per']} ({b['where']})" for b in document["budget"])
    yield ""
    for policy in document["policies"]:
        mark = "+" if policy["matched"] else "-"
        yield f"{mark} {policy['policy']} ({policy['where']}) {policy['says']}, {policy['who']}: {policy['why']}"
    if document["record"] is None:
        yield ""
        for row in document["types"]:
            yield f"{row['type']}: " + ("; ".join(row["under"]) or "not read")
            if row["under"]:
                yield f"  fields: {', '.join(row['fields']) if row['fields'] != ['*'] else 'all'}"
