"""`ukai eval run | compare | report | gate | case add`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ukai.kit import errors
from ukai.kit.finding import Finding
from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False, no_args_is_help=True)
case = typer.Typer(add_completion=False, no_args_is_help=True, help="Cases of banks.")
app.add_typer(case, name="case")

Agent = Annotated[str | None, typer.Option(help="Only cases of this agent.", show_default=False)]
Only = Annotated[str, typer.Option("--cases", help="Only cases whose id matches, such as 'word-*'.")]
Repeats = Annotated[
    int | None, typer.Option(min=1, max=100, help="Instead of what each case says.", show_default=False)
]
Tape = Annotated[Path | None, typer.Option("--cassette", help="Replies of models and tools are played from this file.")]
Record = Annotated[bool, typer.Option("--record", help="What the cassette lacks is asked for and kept.")]
Live = Annotated[bool, typer.Option("--live-tools", help="Tools are called; only models are played.")]
Workers = Annotated[int, typer.Option("--side-by-side", min=1, max=64, help="Questions asked at once.")]
Named = Annotated[str | None, typer.Option("--name", help="Goes on with the evaluation of this name.")]
Changed = Annotated[str | None, typer.Option(help="What was changed: model, prose, rules, code, corpus, nothing.")]


@app.callback()
def _eval() -> None:  # pyright: ignore[reportUnusedFunction]
    """Ask a bank of cases, compare two versions, keep a change or take it back."""


@app.command()
def run(
    name: Named = None,
    agent: Agent = None,
    cases: Only = "*",
    split: Annotated[str, typer.Option(help="Of work, select, holdout, separated by commas.")] = "work,select,holdout",
    repeats: Repeats = None,
    cassette: Tape = None,
    record: Record = False,
    live_tools: Live = False,
    side_by_side: Workers = 4,
    answers_of: Annotated[str, typer.Option(help="Judge this evaluation's answers by the rules of now.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would cost and could show.")] = False,
    as_principal: output.As = None,
    workspace: output.Workspace = output.HERE,
    quiet: output.Quiet = False,
    as_json: output.Json = False,
) -> None:
    """Ask every case, as often as it says; what was asked before under the same name is not asked again."""
    from ukai.app.evals import running

    wanted = running.wanted(
        name=name,
        agent=agent,
        only=cases,
        split=split,
        repeats=repeats,
        cassette=cassette,
        is_recording=record,
        is_live=live_tools,
        side_by_side=side_by_side,
        answers_of=answers_of,
    )
    do = running.forecast if dry_run else running.run
    document = asyncio.run(do(workspace, wanted, principal=as_principal, progress=output.live(quiet=quiet)))
    output.emit(document, as_json=as_json, text="\n".join(_forecast(document) if dry_run else _summary(document)))
    if document.get("findings"):
        raise typer.Exit(output.REFUSED)


@app.command()
def compare(
    before: Annotated[str, typer.Argument(help="An evaluation, or a pinned file.")],
    after: Annotated[str, typer.Argument(help="Another one.")],
    changed: Changed = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """What changed between two evaluations that differ in one dimension. Ends with 1 when a gate would say so."""
    from ukai.app.evals import comparing

    made, problems = comparing.compared(workspace, before, after, changed=changed)
    if made is None:
        raise output.refused(problems, as_json=as_json)
    output.emit(made.as_json(), as_json=as_json, text=comparing.text(made))
    if comparing.got_worse(made):
        raise typer.Exit(output.REFUSED)


@app.command()
def report(
    names: Annotated[list[str], typer.Argument(help="Evaluations, the baseline first.")],
    html: Annotated[Path | None, typer.Option(help="Write one page with charts here.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here.")] = None,
    otel: Annotated[Path | None, typer.Option(help="Write OpenTelemetry spans and evaluation events here.")] = None,
    inspect: Annotated[Path | None, typer.Option(help="Write a log of Inspect here.")] = None,
    pin: Annotated[Path | None, typer.Option(help="Keep the last one as a baseline in this .jsonl file.")] = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """What evaluations say, alone and together: a table, one page with charts, and files for other tools."""
    from ukai.app.evals import reporting

    made = reporting.report(workspace, names)
    asked = {"html": html, "junit": junit, "otel": otel, "inspect": inspect}
    files = {kind: to for kind, to in asked.items() if to is not None}
    written = reporting.written(made, files, pin=pin, root=workspace)
    text = "\n".join([made.text, *(str(problem) for problem in made.problems), *(f"wrote {file}" for file in written)])
    output.emit(made.as_json() | {"written": written}, as_json=as_json, text=text)


@app.command()
def gate(
    baseline: Annotated[str, typer.Argument(help="An evaluation of all splits, or a pinned file.")],
    name: Named = None,
    agent: Agent = None,
    cases: Only = "*",
    repeats: Repeats = None,
    changed: Annotated[str | None, typer.Option(help="As for compare; `any` where several dimensions may.")] = None,
    require: Annotated[str, typer.Option(help="better, or not-worse by more than --larger-than.")] = "better",
    larger_than: Annotated[float, typer.Option(min=0.0, max=1.0, help="A difference up to this is none.")] = 0.05,
    cassette: Tape = None,
    record: Record = False,
    live_tools: Live = False,
    side_by_side: Workers = 4,
    as_principal: output.As = None,
    workspace: output.Workspace = output.HERE,
    quiet: output.Quiet = False,
    as_json: output.Json = False,
) -> None:
    """Ask the bank of the workspace as it is now, and answer keep (exit 0) or revert (exit 1). Exit 2: not decided."""
    from ukai.app.evals import gating, running

    wanted = running.wanted(
        name=name,
        agent=agent,
        only=cases,
        repeats=repeats,
        cassette=cassette,
        is_recording=record,
        is_live=live_tools,
        side_by_side=side_by_side,
    )
    try:
        decided, problems = asyncio.run(
            gating.gate(
                workspace,
                baseline,
                wanted,
                principal=as_principal,
                changed=changed,
                require=gating.required(require),
                larger_than=larger_than,
                progress=output.live(quiet=quiet),
            )
        )
    except errors.UkaiError as failure:  # whoever loops on the exit code must not take it for a verdict
        problems = [Finding(code="not_done", where="", message=failure.args[0], hint=failure.hint)]
        decided = {}
    if problems:
        document = {"decision": None, "findings": [f.as_json() for f in problems]}
        output.emit(document, as_json=as_json, text=output.findings_text(problems))
        raise typer.Exit(output.USAGE)
    lines = [
        decided["decision"],
        *(f"  {stage['stage']}: {r}" for stage in decided["stages"] for r in stage["reasons"]),
    ]
    output.emit(decided, as_json=as_json, text="\n".join(lines))
    if decided["decision"] != "keep":
        raise typer.Exit(output.REFUSED)


@case.command("add")
def add(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="A saved run with sources.")],
    id: Annotated[str | None, typer.Option(help="The case's id.", show_default=False)] = None,
    subject: Annotated[str, typer.Option(help="What it is about, such as Account#harbor.")] = "",
    into: Annotated[Path | None, typer.Option(help="A file of cases; default: drawn.yaml of its agent.")] = None,
    as_principal: output.As = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
) -> None:
    """Make a case of a saved run: what it cited is what an answer needs."""
    from ukai.app.evals import drawn

    done = asyncio.run(drawn.case(workspace, run_id, principal=as_principal, id=id, subject=subject, into=into))
    document, findings = done
    if not document:
        raise output.refused(findings, as_json=as_json)
    text = f"{document['case']['id']} ({document['split']}) in {document['file']}"
    output.emit(document, as_json=as_json, text=text)


def _summary(document: dict[str, Any]) -> Iterator[str]:
    if "evaluation" in document:
        share = document["passed"]
        value = "-" if share["value"] is None else f"{100 * share['value']:.1f}%"
        yield (
            f"{document['evaluation']}: {document['runs']} runs of {document['cases']} cases, passed {share['hits']} "
            f"({value} [{100 * share['low']:.1f}, {100 * share['high']:.1f}])"
        )
        cost = "no price known" if document["usd"] is None else f"{document['usd']:.4f} USD"
        yield f"{document['tokens']:,} tokens, {cost}; {document['errors']} errors, {document['missing']} still missing"
    yield from _problems(document)


def _forecast(document: dict[str, Any]) -> Iterator[str]:
    if "runs" in document:
        yield f"{document['runs']} runs of {document['cases']} cases about {document['subjects']} subjects"
        for agent, row in document["by_agent"].items():
            each = "not known" if row["usd_a_run"] is None else f"{row['usd_a_run']:.4f} USD"
            yield f"  {agent}: {row['runs']} runs, {each} a run (from {row['known_runs']} saved runs)"
        expected, most = document["usd"], document["usd_at_most"]
        yield f"expected cost: {'not known' if expected is None else f'{expected:.2f} USD'}"
        yield f"allowed at most: {'no limit' if most is None else f'{most:.2f} USD'}"
        least = document["detectable"]
        yield "a difference that would be seen: " + ("none" if least is None else f"{100 * least:.1f} points")
        yield "power: " + ", ".join(f"{100 * float(d):.0f} points {p:.2f}" for d, p in document["power"].items())
    yield from _problems(document)


def _problems(document: dict[str, Any]) -> Iterator[str]:
    for finding in document.get("findings", []):
        yield f"{finding['where']}: {finding['severity']} [{finding['code']}] {finding['message']}"
        if finding["received"]:
            yield from (f"    {line}" for line in finding["received"].split("\n"))
