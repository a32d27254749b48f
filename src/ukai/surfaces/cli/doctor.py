"""`ukai doctor`."""

from __future__ import annotations

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command()
def doctor(folder: output.Workspace = output.HERE, as_json: output.Json = False) -> None:
    """Look at everything Ukai stands on, one line a check, with what to do. Ends with 1 when something fails."""
    from ukai.app import doctor as doctors

    verdicts = doctors.examine(folder)
    lines = [f"{v.state:<4} {v.check:<16} {v.said}" + (f" -> {v.hint}" if v.hint else "") for v in verdicts]
    failed = any(v.state == "fail" for v in verdicts)
    output.emit({"ok": not failed, "checks": [v.as_json() for v in verdicts]}, as_json=as_json, text="\n".join(lines))
    if failed:
        raise typer.Exit(output.REFUSED)
