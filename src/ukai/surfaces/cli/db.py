"""`ukai db start | stop | status | url | dump | restore | erase | retain`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False, no_args_is_help=True, help="The workspace's database.")

File = Annotated[Path, typer.Argument(help="A file in PostgreSQL's custom format.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]


@app.command()
def start(folder: output.Workspace = output.HERE, as_json: output.Json = False, quiet: output.Quiet = False) -> None:
    """Start the embedded server if it does not run, and bring the database to the newest migration."""
    from ukai.app import db

    output.progress("starting the database", quiet=quiet)
    done = db.start(folder)
    steps = f", migrated: {', '.join(done['migrated'])}" if done["migrated"] else ""
    output.emit(done, as_json=as_json, text=f"the {done['kind']} database is ready at {done['url']}{steps}")


@app.command()
def stop(folder: output.Workspace = output.HERE, as_json: output.Json = False) -> None:
    """Stop the embedded server. Its data stays; the next use starts it again."""
    from ukai.app import db

    done = db.stop(folder)
    output.emit(done, as_json=as_json, text="stopped" if done["stopped"] else "it did not run")


@app.command()
def status(folder: output.Workspace = output.HERE, as_json: output.Json = False) -> None:
    """Where the database is, whether it runs, and what is in it. Starts nothing."""
    from ukai.app import db

    known = db.status(folder)
    output.emit(known, as_json=as_json, text="\n".join(f"{key:<12} {_shown(value)}" for key, value in known.items()))


@app.command()
def url(folder: output.Workspace = output.HERE, as_json: output.Json = False) -> None:
    """Print the address with its password, for psql "$(ukai db url)". Starts the embedded server."""
    from ukai.app import db

    found = db.url(folder)
    output.emit(found, as_json=as_json, text=found["url"])


@app.command()
def dump(
    file: File,
    force: Force = False,
    folder: output.Workspace = output.HERE,
    as_json: output.Json = False,
    quiet: output.Quiet = False,
) -> None:
    """Write the whole database into FILE."""
    from ukai.app import db

    output.progress("writing the database", quiet=quiet)
    done = db.dump(folder, file, forced=force)
    output.emit(done, as_json=as_json, text=f"{done['bytes']:,} bytes in {done['file']}")


@app.command()
def restore(
    file: File,
    force: Force = False,
    folder: output.Workspace = output.HERE,
    as_json: output.Json = False,
    quiet: output.Quiet = False,
) -> None:
    """Put what FILE holds in the place of the database. Refused when that has rows, unless --force."""
    from ukai.app import db

    output.progress("restoring the database", quiet=quiet)
    done = db.restore(folder, file, forced=force)
    output.emit(done, as_json=as_json, text=f"restored from {done['file']}, at migration {done['migration']}")


@app.command()
def erase(
    person: Annotated[str, typer.Argument(help="Their mail address.")],
    also: Annotated[
        list[str] | None, typer.Option("--also", help="Another word by which they go: a full name.", show_default=False)
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without it only counts.")] = False,
    principal: output.As = None,
    folder: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """Remove a person from records, history, runs, compositions, attempts and keys. It cannot be undone.

    A tombstone stays: who erased, when, how much. Files that still name the person are listed.
    """
    from ukai.app import keeping

    done = asyncio.run(keeping.erased(folder, person, names=also or (), named=principal, sure=yes))
    output.emit(done.as_json(), as_json=as_json, text="\n".join(done.lines()))


@app.command()
def retain(principal: output.As = None, folder: output.Workspace = output.HERE, as_json: output.Json = False) -> None:
    """Let go of what is older than `retention` in ukai.yaml allows. For a daily schedule."""
    from ukai.app import keeping

    gone = asyncio.run(keeping.retained(folder, named=principal))
    lines = [f"{name.replace('_', ' '):<14} {'kept' if n is None else f'{n} let go'}" for name, n in gone.items()]
    output.emit(gone, as_json=as_json, text="\n".join(lines))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(v) for v in value) or "none"  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return "none" if value is None else str(value)
