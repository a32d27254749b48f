"""`ukai schema check | upload | migrate | list | show | import`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Domains: what may be stored at all.")

Files = Annotated[
    list[Path] | None, typer.Argument(help="Domain files; none means those of the workspace.", show_default=False)
]


@app.command()
def check(files: Files = None, workspace: output.Workspace = output.HERE, as_json: output.Json = False) -> None:
    """Tell every problem of domain files, with line and column. Needs no database."""
    from ukai.app import schema

    found = schema.check(workspace, files or ())
    text = output.findings_text(found.findings)
    summary = f"{found.files} files, {len(found.domains)} domains without an error"
    document = {"findings": [f.as_json() for f in found.findings], "domains": [d.domain for d in found.domains]}
    output.emit({**document, "files": found.files}, as_json=as_json, text=f"{text}\n{summary}" if text else summary)
    if len(found.domains) < found.files:
        raise typer.Exit(output.REFUSED)


@app.command()
def upload(
    files: Files = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say which records would fail, part by part, and change nothing.")
    ] = False,
    principal: output.As = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """Make domains current: what is proposed from now on is held against them. Needs the right `upload`.

    Old records stay as they are until a write touches what is wrong with them.
    """
    from ukai.app import schema

    if dry_run:
        tried = asyncio.run(schema.tried(workspace, files or (), named=principal, progress=output.progress))
        output.emit(tried.as_json(), as_json=as_json, text="\n".join(tried.lines()))
        if tried.failed:
            raise typer.Exit(output.REFUSED)
        return
    done = asyncio.run(schema.upload(workspace, files or (), named=principal))
    document = done.as_json()
    lines = [str(f) for f in done.findings]
    lines += [
        f"{d['domain']} version {d['version']}{'' if d['changed'] else ', which was there already'}"
        for d in document["uploaded"]
    ]
    output.emit(document, as_json=as_json, text="\n".join(lines))
    if done.failed:
        raise typer.Exit(output.REFUSED)


@app.command()
def migrate(
    file: Annotated[Path, typer.Argument(help="{migration, types: [{type, where, set: {field: expression}}]}.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without it, a dry run.")] = False,
    principal: output.As = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
    quiet: output.Quiet = False,
) -> None:
    """Bring old records to a new schema, through the gate, in your name. Needs the right `upload`.

    A record that cannot follow costs only itself; run again, it goes on. Ends with 1 when some were refused.
    """
    from ukai.app import migrate as migrating

    done = asyncio.run(
        migrating.migrate(workspace, file, named=principal, sure=yes, progress=output.live(quiet=quiet or as_json))
    )
    if isinstance(done, list):
        raise output.refused(done, as_json=as_json)
    output.emit(done.as_json(), as_json=as_json, text="\n".join(done.lines()))
    if done.failed:
        raise typer.Exit(output.REFUSED)


@app.command(name="list")
def list_(principal: output.As = None, workspace: output.Workspace = output.HERE, as_json: output.Json = False) -> None:
    """Which domains the store has, and whether the files say the same."""
    from ukai.app import schema

    rows = asyncio.run(schema.listed(workspace, named=principal))
    lines = [
        f"{r['domain']:<20} {'version ' + str(r['version']) if r['version'] else 'not uploaded':<14} "
        f"files: {r['files']:<8} {', '.join(r['types'])}"
        for r in rows
    ]
    output.emit({"domains": rows}, as_json=as_json, text="\n".join(lines) or "no domains yet: ukai schema upload")


@app.command()
def show(
    domain: Annotated[str, typer.Argument(help="The name of a domain, or of a type.")],
    version: Annotated[int | None, typer.Option("--version", help="An earlier one.", show_default=False)] = None,
    principal: output.As = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """A domain, or one type, as the store has it, in the language of its file, with the key of each type's template."""
    from ukai.app import schema

    found = asyncio.run(schema.show(workspace, domain, version=version, named=principal))
    rest = {k: found.pop(k) for k in ("version", "templates")}
    head = [f"# version {rest['version']}"]
    head += [f"# {t['file']}: {t['mode'] or 'there is no template'}" for t in rest["templates"]]
    output.emit({**found, **rest}, as_json=as_json, text="\n".join([*head, schema.as_yaml(found)]))


@app.command(name="import")
def import_(
    file: Annotated[Path, typer.Argument(help="A JSON Schema.")],
    type: Annotated[str, typer.Option("--type", help="The name of the node type.")],
    domain: Annotated[str, typer.Option("--domain", help="The name of the domain.")],
    key: Annotated[
        list[str] | None, typer.Option("--key", help="A field of the natural key.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write the domain file here.", show_default=False)] = None,
    as_json: output.Json = False,
) -> None:
    """Turn a JSON Schema into a domain file that judges as it does. Notes say where the two differ."""
    from ukai.app import schema

    found, findings = schema.imported(file, type=type, domain=domain, key=key or ())
    if found is None:
        raise output.refused(findings, as_json=as_json)
    text = schema.as_yaml(found)
    if out is not None:
        out.write_text(text, encoding="utf-8")
    shown = f"written to {out}" if out is not None else text
    notes = "".join(f"# {f}\n" for f in findings)
    output.emit({"domain": found, "findings": [f.as_json() for f in findings]}, as_json=as_json, text=notes + shown)
