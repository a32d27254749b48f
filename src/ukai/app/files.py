"""Files that a verb writes into a workspace: whole, or not at all."""

from __future__ import annotations

from pathlib import Path


def write(path: Path, text: str) -> None:
    """Put `text` (UTF-8, line ends as given) at `path`, folders included. Raises OSError.

    A full disk or a killed process leaves what was there before, and no half of a file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.part")
    try:
        half.write_text(text, encoding="utf-8", newline="\n")
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)
