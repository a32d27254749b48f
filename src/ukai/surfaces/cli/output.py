"""What every verb shares: the common options, one JSON document or plain text, and the exit codes."""

from __future__ import annotations

import errno as e
import json
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ukai.kit import canonical, errors
from ukai.kit.finding import Finding

FINE, REFUSED, USAGE, INTERNAL = 0, 1, 2, 3

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Workspace = Annotated[Path, typer.Option("--workspace", "-w", help="The workspace's folder.", show_default=False)]
As = Annotated[str | None, typer.Option("--as", help="Act as this principal.", show_default=False)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Embed = Annotated[bool, typer.Option("--embed/--no-embed", help="Embed what came in, or leave it to `ukai serve`.")]

HERE = Path()
EVERY_S = 30.0
"""How often a log is told how far something is."""
_STEERING = re.compile("[\0-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)")
THEIRS = frozenset(
    {e.EACCES, e.EPERM, e.EROFS, e.ENOSPC, e.EDQUOT, e.ENAMETOOLONG, e.ENOENT, e.ENOTDIR, e.EISDIR, e.ELOOP, e.EIO}
)
"""What the file system of whoever calls refuses: theirs to mend, and no fault of the program."""
DOCTOR = "`ukai doctor` looks at the folder and the disk"


def emit(value: Any, *, as_json: bool, text: str) -> None:
    """`value` as one JSON document, or `text` for people."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")  # the last line of progress
    if as_json:
        document = json.dumps(value, ensure_ascii=False, indent=2, default=canonical.shown)
        # A file's name may be no UTF-8: half of a surrogate pair is no character, and the document has to be one.
        document = document.encode("utf-8", "replace").decode()
        sys.stdout.write(_STEERING.sub(lambda m: f"\\u{ord(m[0]):04x}", document) + "\n")  # the same document
    elif text:
        sys.stdout.write(visible(text if text.endswith("\n") else text + "\n"))


def visible(text: str) -> str:
    """`text` with what would steer a terminal, or turn the direction of reading, written out.

    Records and files are other people's text: one must not clear the screen, rename the window or feign an answer.
    """
    return _STEERING.sub(lambda m: m[0].encode("unicode_escape").decode(), text)


def progress(message: str, *, quiet: bool = False) -> None:
    """A line on stderr, when a person looks on."""
    if not quiet and sys.stderr.isatty():
        sys.stderr.write(visible(message + "\n"))


def live(*, quiet: bool, seconds: Callable[[], float] = time.monotonic) -> Callable[[str], None]:
    """Progress on stderr: one line that is written over on a terminal; elsewhere a line for each new stage, and for how
    far it is every half minute.

    A message is `stage: how far`, or a stage alone.
    """
    last, shown = "", seconds()

    def show(message: str) -> None:
        nonlocal last, shown
        stage = message.rpartition(":")[0] or message
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\033[K{visible(message)}")
        elif stage != last or seconds() - shown >= EVERY_S:
            sys.stderr.write(visible(f"{message if stage == last else stage} ...\n"))
            shown = seconds()
        last = stage
        sys.stderr.flush()

    return (lambda _: None) if quiet else show


def embed(workspace: Path, *, as_json: bool, quiet: bool) -> None:
    """After what came in was told: cut off here, everything is in, and the next run goes on."""
    import asyncio

    from ukai.app import following

    said = asyncio.run(following.caught_up(workspace, live(quiet=quiet or as_json)))
    emit(None, as_json=False, text="")  # no progress is left on a terminal
    if said and not quiet:
        typer.echo(visible(said), err=True)


def findings_text(findings: Sequence[Finding]) -> str:
    """One finding a paragraph, errors first in the order given."""
    return "\n".join(str(f) for f in findings)


def refused(findings: Sequence[Finding], *, as_json: bool) -> typer.Exit:
    """Print the findings and end with 1: `raise refused(...)`."""
    emit({"findings": [f.as_json() for f in findings]}, as_json=as_json, text=findings_text(findings))
    return typer.Exit(REFUSED)


def made(folder: Path, written: Sequence[str], kept: Sequence[str], steps: Sequence[str], *, as_json: bool) -> None:
    """What a verb wrote, what it left as it was, and what to do next."""
    document = {"folder": str(folder), "written": list(written), "kept": list(kept), "next": list(steps)}
    lines = [f"made {folder / name}" for name in written] + [f"kept {folder / name}" for name in kept]
    emit(document, as_json=as_json, text="\n".join([*lines, "next:", *(f"  {step}" for step in steps)]))


def guarded(run: Callable[[], Any], words: Sequence[str] | None = None) -> int:
    """Run a command line and turn what it raises into an exit code, one readable line, and with `--json` one document.

    `words` is the command line; None takes the process's own.
    """
    as_json = "--json" in (sys.argv[1:] if words is None else words)
    try:
        run()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else FINE if stop.code is None else REFUSED
    except errors.UkaiError as failure:
        return _stopped(failure.args[0], failure.hint, as_json=as_json)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except OSError as failure:
        if failure.errno not in THEIRS:
            return _fault(failure, as_json=as_json)
        place = "" if failure.filename is None else f" {str(failure.filename)!r}"
        return _stopped(f"the file system refuses{place}: {failure.strerror}", DOCTOR, as_json=as_json)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
    except Exception as fault:
        return _fault(fault, as_json=as_json)
    return FINE


def _stopped(message: str, hint: str, *, as_json: bool) -> int:
    """What keeps a verb from its work: on stderr for people, and as the one document where that is awaited."""
    sys.stderr.write(visible(f"error: {message}. {hint[0].upper()}{hint[1:]}\n" if hint else f"error: {message}\n"))
    if as_json:
        emit(
            {"findings": [Finding(code="not_done", where="", message=message, hint=hint).as_json()]},
            as_json=True,
            text="",
        )
    return REFUSED


def _fault(fault: Exception, *, as_json: bool) -> int:
    """A fault of ours: where it came from is for people; the one document says that it was one."""
    if os.environ.get("UKAI_DEBUG"):
        traceback.print_exception(fault)
    sys.stderr.write(visible(f"internal error: {type(fault).__name__}: {fault}\nSet UKAI_DEBUG=1 to see where.\n"))
    if as_json:
        message = f"internal error: {type(fault).__name__}: {fault}"
        found = Finding(code="internal_error", where="", message=message, hint="Set UKAI_DEBUG=1 to see where")
        emit({"findings": [found.as_json()]}, as_json=True, text="")
    return INTERNAL
