"""`ukai bench NAME [--option value]`."""

from __future__ import annotations

from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def bench(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="A file of benchmarks/, without .py.")],
    as_json: output.Json = False,
) -> None:
    """Measure, and print figures and ratios. Further options `--key value` go to the benchmark.

    Ends with 1 when a figure fell below what is pinned.
    """
    from ukai.app import bench as benches

    extra = [a.removeprefix("--") for a in ctx.args]
    if len(extra) % 2:
        raise typer.BadParameter("options of a benchmark come in pairs: --key value")
    document = benches.run(name, dict(zip(extra[::2], extra[1::2], strict=True)))
    rows = [*document["figures"].items(), *((f"{k} (ratio)", v) for k, v in document["ratios"].items())]
    lines = [f"{key:<44} {value:>14,.3f}" for key, value in rows] + document.get("notes", [])
    output.emit(document, as_json=as_json, text="\n".join([*lines, *document.get("fell", [])]))
    if "fell" in document:
        raise typer.Exit(output.REFUSED)
