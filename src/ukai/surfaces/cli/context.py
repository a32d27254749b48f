"""`ukai context compose | explain | replay | fetch | recall | nightly`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from ukai.surfaces.cli import output

app = typer.Typer(add_completion=False, no_args_is_help=True)
Whole = Annotated[bool, typer.Option("--all", help="Show the whole ranking; --json always holds it.")]


@app.callback()
def _context() -> None:  # pyright: ignore[reportUnusedFunction]
    """What an agent reads, and how much of what a question needs it holds."""


@app.command()
def compose(
    agent: Annotated[str, typer.Argument(help="The agent's name.")],
    question: Annotated[str, typer.Argument(help="What it is asked.")],
    skill: Annotated[str | None, typer.Option(help="Compose for this skill of it.", show_default=False)] = None,
    budget: Annotated[
        int | None, typer.Option(min=1, max=50_000, help="Tokens; what the scope says by default.", show_default=False)
    ] = None,
    conversation: Annotated[
        str | None, typer.Option(help="Send again only what this conversation was not given.", show_default=False)
    ] = None,
    holds: Annotated[
        str | None,
        typer.Option(
            help="The last composition that arrived; what came till then is not sent again.", show_default=False
        ),
    ] = None,
    ranker: Annotated[
        str | None, typer.Option(help="score, or one that ukai.yaml lists; else its choice.", show_default=False)
    ] = None,
    whole: Whole = False,
    workspace: output.Workspace = output.HERE,
    principal: output.As = None,
    as_json: output.Json = False,
    quiet: output.Quiet = False,
) -> None:
    """Show the document that the agent would read, and how it came about."""
    from ukai.app import context

    made = asyncio.run(
        context.compose(
            workspace,
            agent,
            question,
            principal=principal,
            skill=skill,
            budget_tokens=budget,
            conversation=conversation,
            holds=holds,
            ranker=ranker,
            progress=output.live(quiet=quiet),
        )
    )
    told = context.lines(made["report"], whole=whole)
    text = "\n".join([made["text"], "", *told, "", f"ukai context explain {made['id']} [RECORD]"])
    output.emit(made, as_json=as_json, text=text)


@app.command()
def explain(
    id: Annotated[str, typer.Argument(help="As `ukai context compose` and saved runs give it.")],
    record: Annotated[str | None, typer.Argument(help="Type#key, with /part for one part.", show_default=False)] = None,
    whole: Whole = False,
    workspace: output.Workspace = output.HERE,
    principal: output.As = None,
    as_json: output.Json = False,
) -> None:
    """Why a record is in a document or is not; without a record, how the document came about."""
    from ukai.app import context

    found = asyncio.run(context.explain(workspace, id, record, principal=principal))
    if record is None:
        head = f"{found['agent']} at {found['at']}: {found['question']}"
        text = "\n".join([head, "", *context.lines(found["report"], whole=whole)])
    else:
        verdict = "is in the document" if found["shown"] else "is not in the document"
        text = "\n".join([f"{found['handle']} {verdict}", *(f"  {line}" for line in found["why"])])
    output.emit(found, as_json=as_json, text=text)


@app.command()
def replay(
    id: Annotated[str, typer.Argument(help="As `ukai context compose` and saved runs give it.")],
    workspace: output.Workspace = output.HERE,
    principal: output.As = None,
    as_json: output.Json = False,
) -> None:
    """Compose it once more: the same bytes, or the inputs that changed. Ends with 1 when it says something else."""
    from ukai.app import context

    made = asyncio.run(context.replay(workspace, id, principal=principal))
    verdict = "the same, to the byte" if made["same"] else "it says something else now"
    output.emit(made, as_json=as_json, text="\n".join([verdict, *(f"  changed: {c}" for c in made["changed"])]))
    if not made["same"]:
        raise typer.Exit(output.REFUSED)


@app.command()
def fetch(
    agent: Annotated[str, typer.Argument(help="For which the document was composed.")],
    ref: Annotated[str, typer.Argument(help="As the document names it: `the whole: fetch_offloaded REF`.")],
    workspace: output.Workspace = output.HERE,
    principal: output.As = None,
    as_json: output.Json = False,
) -> None:
    """Print a long value that a document only names, as it is now, under the rights of now."""
    from ukai.app import context

    found = asyncio.run(context.fetch(workspace, agent, ref, principal=principal))
    output.emit(found, as_json=as_json, text=found["text"])


@app.command()
def recall(
    corpus: Annotated[
        Path | None, typer.Option("--corpus", help="Items, one JSON object a line.", show_default=False)
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option("--cases", help="Questions with the items they require, one a line.", show_default=False),
    ] = None,
    budgets: Annotated[str, typer.Option("--budgets", help="Tokens, with commas.")] = "2500,5000,10000,15000",
    counter: Annotated[str, typer.Option("--counter", help="chars4 (characters over four) or o200k.")] = "chars4",
    cut: Annotated[str, typer.Option("--cut", help="passes, or the plain prefix.")] = "passes",
    words_only: Annotated[bool, typer.Option("--words-only", help="Nothing is embedded.")] = False,
    vectors: Annotated[
        Path | None, typer.Option("--vectors", help="Folder that keeps vectors between runs.", show_default=False)
    ] = None,
    every: Annotated[int, typer.Option("--every", min=1, help="Only every so many-th case.")] = 1,
    name: Annotated[str, typer.Option("--set", help="What the figures are called in a baseline.")] = "recall",
    baseline: Annotated[
        Path | None, typer.Option("--baseline", help="Pinned figures to hold these against.", show_default=False)
    ] = None,
    pin: Annotated[bool, typer.Option("--pin", help="Write the figures into the baseline instead.")] = False,
    agent: Annotated[
        str | None, typer.Option("--agent", help="Of a workspace: the cases of this agent.", show_default=False)
    ] = None,
    only: Annotated[str, typer.Option("--only", help="Of a workspace: cases whose id matches.")] = "*",
    ranker: Annotated[
        str | None,
        typer.Option("--ranker", help="Of a workspace: score, or one that ukai.yaml lists.", show_default=False),
    ] = None,
    workspace: output.Workspace = output.HERE,
    principal: output.As = None,
    chart: Annotated[Path | None, typer.Option("--chart", help="Write an SVG file.", show_default=False)] = None,
    as_json: output.Json = False,
    quiet: output.Quiet = False,
) -> None:
    """Measure how much of what questions require documents hold at token budgets, beside a random order.

    A corpus from files goes through the composer's own scoring, sections, cut and rendering. Without one, the cases of
    the workspace are composed from its store. Ends with 1 when lines cannot be read or a figure fell below a baseline.
    """
    from ukai.app import recall as recalling

    if (corpus is None) is not (cases is None):
        raise typer.BadParameter("--corpus and --cases go together")
    if (pin and baseline is None) or not all(b.strip().isdigit() and int(b) > 0 for b in budgets.split(",")):
        raise typer.BadParameter("--pin needs --baseline; --budgets are whole numbers from 1 with commas")
    if corpus is None and (words_only or vectors is not None or (counter, cut) != ("chars4", "passes")):
        raise typer.BadParameter("--counter, --cut, --words-only and --vectors go with --corpus")
    if corpus is not None and (agent is not None or ranker is not None or only != "*"):
        raise typer.BadParameter("--agent, --only and --ranker go without --corpus")
    wanted = recalling.Wanted(
        budgets=tuple(int(b) for b in budgets.split(",")),
        counter=counter,
        cut=cut,
        words_only=words_only,
        vectors=vectors,
        every=every,
    )
    progress = output.live(quiet=quiet)
    if corpus is not None and cases is not None:
        report = recalling.recall(corpus, cases, wanted, progress=progress)
    else:
        from ukai.app import golden

        asked = golden.recall(
            workspace,
            budgets=wanted.budgets,
            agent=agent,
            only=only,
            every=every,
            ranker=ranker,
            principal=principal,
            progress=progress,
        )
        report = asyncio.run(asked)
    told = ""
    if baseline is not None and pin:
        recalling.pin(report, baseline, name)
    elif baseline is not None:
        report, told = recalling.against(report, baseline, name)
    if chart is not None:
        recalling.chart(report, name, chart)
    output.emit(report.as_json(), as_json=as_json, text=recalling.text(report, name) + told)
    if report.failed:
        raise typer.Exit(output.REFUSED)


@app.command()
def nightly(
    run: Annotated[bool, typer.Option("--run", help="Measure now, if it is due and nobody did.")] = False,
    nights: Annotated[int, typer.Option("--nights", min=1, max=1_000, help="Show so many.")] = 14,
    chart: Annotated[Path | None, typer.Option("--chart", help="Write an SVG file.", show_default=False)] = None,
    workspace: output.Workspace = output.HERE,
    as_json: output.Json = False,
    quiet: output.Quiet = False,
) -> None:
    """Show how recall went over the last nights; with --run, be the one who measures tonight.

    `context: {recall: {nightly: ..}}` in ukai.yaml says when, and `ukai serve` does it. Ends with 1 when a figure of
    the last night fell below the baseline, or it could not be measured.
    """
    from ukai.app import nightly as measuring
    from ukai.app import nights as shown

    if run:
        night = asyncio.run(measuring.run(workspace, progress=output.live(quiet=quiet)))
        if not isinstance(night, shown.Night):
            text = f"nothing to do: {night.reason}; next at {night.next:%Y-%m-%d %H:%M} UTC"
            output.emit({"reason": night.reason, "next": night.next.isoformat()}, as_json=as_json, text=text)
            return
        output.emit(night.as_json(), as_json=as_json, text=str(night))
        alerts = night.alerts
    else:
        found, due = asyncio.run(measuring.shown(workspace, last=nights))
        when = f"next at {due:%Y-%m-%d %H:%M} UTC" if due else "ukai.yaml says nothing of a nightly recall"
        drawn = chart is None or shown.chart(found, chart)
        undrawn = [] if drawn else ["no chart was written: no night was measured"]
        output.emit(
            {"nights": [n.as_json() for n in found], "next": due.isoformat() if due else None},
            as_json=as_json,
            text="\n".join([*(shown.table(found) if found else []), when, *undrawn]),
        )
        alerts = found[0].alerts if found else []
    if alerts:
        raise typer.Exit(output.REFUSED)
