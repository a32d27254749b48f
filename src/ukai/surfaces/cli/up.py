"""`ukai up --target compose|kubernetes|astropods|slack`."""

from __future__ import annotations

from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False)
FINE = ["every file is as it should be"]


@app.command()
def up(
    target: Annotated[str, typer.Option("--target", help="compose, kubernetes, astropods or slack.")],
    agent: Annotated[
        list[str] | None, typer.Option("--agent", help="Only this one; may be said several times.")
    ] = None,
    image: Annotated[
        str, typer.Option("--image", help="The image's name, with its registry.", show_default=False)
    ] = "",
    write: Annotated[bool, typer.Option("--write", help="Write the files; else they are shown.")] = False,
    check: Annotated[bool, typer.Option("--check", help="End with 1 when the files are not those that it makes.")] = (
        False
    ),
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """Manifests for each agent: one image with the whole tree, and SKILL_NAME that picks what a container serves."""
    from ukai.app import deploy

    if target not in deploy.TARGETS:
        raise typer.BadParameter(f"{target!r} is none of {', '.join(deploy.TARGETS)}", param_hint="--target")
    plan = deploy.plan(workspace, target, agents=agent or (), image=image)
    refusing = [f for f in plan.findings if f.severity == "error"]
    if write and refusing:
        raise output.refused(plan.findings, as_json=as_json)
    written = deploy.write(plan) if write else []
    document = {**plan.as_json(), "written": written}
    if write:
        lines = [f"made {plan.root / name}" for name in written] or FINE
    elif check:
        lines = [f"stale {name}" for name in plan.stale] or FINE
    else:
        lines = [f"# {name}\n{text}" for name, text in plan.files.items()]
    lines = lines if plan.files else []
    notes = output.findings_text(plan.findings)
    output.emit(document, as_json=as_json, text="\n".join([*lines, notes] if notes else lines))
    if check and plan.stale:
        raise typer.Exit(output.REFUSED)
