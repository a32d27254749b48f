"""The command line. `VERBS` is all there is; a verb's module is imported only when it is called."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module, metadata
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ukai.surfaces.cli import output

Serve = Callable[..., None]

VERBS: dict[str, tuple[str, str]] = {
    "ask": ("ask", "Ask an agent: answer, sources, what was considered."),
    "run": ("run", "Saved runs: show, list."),
    "demo": ("demo", "Load the sample company and ask it a question."),
    "checks": ("checks", "What code can decide about answers: list, run, score."),
    "eval": ("eval", "Ask a bank, compare versions, keep or revert: run, compare, report, gate, case add."),
    "context": ("context", "What an agent reads: compose, explain, recall."),
    "access": ("access", "Who may do what, and why; what was refused: explain, refusals."),
    "db": ("db", "The database: start, stop, status, url, dump, restore, erase, retain."),
    "doctor": ("doctor", "Look at everything Ukai stands on."),
    "init": ("init", "Make a small workspace."),
    "new": ("new", "Make an agent, a skill, a report or a guardrail."),
    "lint": ("lint", "Every problem of a workspace or a tree of agent files, at once."),
    "info": ("info", "What an agent resolved to, and where each value came from."),
    "export": ("export", "An agent in the open Agent Skills format."),
    "affected": ("affected", "Which agents a change reaches, and why."),
    "codeowners": ("codeowners", "Who must agree to which change, for the code host."),
    "schema": ("schema", "Domains: check, upload, list, show, import from JSON Schema."),
    "propose": ("propose", "Propose a change to the gate."),
    "undo": ("undo", "Take back a commit, a run, or what somebody wrote."),
    "history": ("history", "Who changed what; records as they were; the feed of changes."),
    "ingest": ("ingest", "Bring in what other systems know, by connectors."),
    "quarantine": ("quarantine", "Rows that could not be brought in: list, show, retry, drop."),
    "review": ("review", "What waits for a human: list, show, approve, reject."),
    "stats": ("stats", "What happened, counted: ukai stats gate."),
    "gate": ("gate", "The gate tried out on files: ukai gate replay."),
    "skill": ("skill", "What people repeat: ukai skill suggest."),
    "connect": ("connect", "Give a tool your own credential for it."),
    "token": ("token", "Personal tokens: create, list, revoke."),
    "serve": ("serve", "Answer over HTTP, MCP and a web page."),
    "dev": ("dev", "Serve while you write: every saved file counts from the next question on."),
    "up": ("up", "Manifests to run the agents elsewhere: compose, kubernetes, astropods, slack."),
    "bench": ("bench", "Measure: ukai bench NAME."),
}
"""Verb -> (module that holds its `app`, one line of help). A new verb is one file here and one line in this table."""


class _LazyGroup(TyperGroup):
    """Knows every verb by name and line of help, and loads one when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in VERBS:
            return None
        module, summary = VERBS[cmd_name]
        loaded: Any = import_module(f"ukai.surfaces.cli.{module}")
        loaded.app.rich_markup_mode = None  # as the whole: no frames that leave half a line for words
        command: Any = typer.main.get_command(loaded.app)
        command.name = cmd_name
        command.short_help = summary
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in VERBS.items()])


app = typer.Typer(
    cls=_LazyGroup,
    help="Ukai: agents read through the composer, write through the gate, and are weighed by code.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        output.emit(None, as_json=False, text=f"ukai {metadata.version('ukai')}")
        raise typer.Exit


@app.callback()
def _root(  # pyright: ignore[reportUnusedFunction]
    version: Annotated[
        bool, typer.Option("--version", help="Say which version this is.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    pass  # Typer needs a callback to treat the verbs as subcommands; the help text stands above.


def main(serve: Serve | None = None) -> None:
    """The entry point: exit 0 fine, 1 an error finding or a rejection, 2 wrong usage, 3 an internal fault.

    `serve` stands above this room and is handed in: `serve(workspace, host=, port=, ready=)`, or `serve(workspace)`
    for standard input and output.
    """
    raise SystemExit(output.guarded(lambda: app(obj=serve)))
