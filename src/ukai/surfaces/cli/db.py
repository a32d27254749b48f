"""`ukai db start | stop | status | url | dump | restore`."""

from __future__ import annotations

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


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(v) for v in value) or "none"  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return "none" if value is None else str(value)
