"""`ukai lint [PATH]`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)


@app.command()
def lint(
    path: Annotated[
        Path | None, typer.Argument(help="A workspace, a folder or a file.", exists=True, show_default=False)
    ] = None,
    portable: Annotated[
        bool, typer.Option("--portable", help="Also hold SKILL.md files to the open Agent Skills format.")
    ] = False,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """Tell every problem at once, with file, line, column, what was expected and a fix. Executes nothing."""
    from ukai.app import lint as linting

    report = linting.lint(path or workspace, keep_portable=portable)
    by = {s: sum(f.severity == s for f in report.findings) for s in ("error", "warning", "note")}
    summary = f"{report.files} files: " + ", ".join(f"{n} {s}{'' if n == 1 else 's'}" for s, n in by.items())
    text = output.findings_text(report.findings)
    output.emit(report.as_json(), as_json=as_json, text=f"{text}\n{summary}" if text else summary)
    if report.failed:
        raise typer.Exit(output.REFUSED)
