"""Draws `docs/house.svg` from what is true: the storeys of `.importlinter` and the first line of each room's docstring.

`python -m tests.house.picture` writes the file; a test fails while the file differs from what would be written.
"""

from __future__ import annotations

import ast
import configparser
import textwrap
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "house.svg"

WIDTH, GAP, LEFT, ROW = 1120, 10, 24, 92
PLANES = {"context": "#d9e8fb", "gate": "#fbe3d6", "measure": "#dff3e0", "memory": "#eee3f7"}


def storeys() -> list[list[str]]:
    """Rooms by storey, highest first, those that do not exist yet left out."""
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter")
    lines = config["importlinter:contract:storeys"]["layers"].split("\n")
    rows = [[name.strip(" ()") for name in line.split("|")] for line in lines if line.strip()]
    return [there for row in rows if (there := [name for name in row if source(name).exists()])]


def source(room: str) -> Path:
    """The file whose docstring says what a room is for."""
    folder = ROOT / "src" / "ukai" / room
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def purpose(room: str) -> str:
    """The first sentence of a room's docstring."""
    text = ast.get_docstring(ast.parse(source(room).read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).split(". ")[0].rstrip(".")


def draw() -> str:
    """The picture as SVG text, the same bytes for the same house."""
    rows = storeys()
    height = len(rows) * (ROW + GAP) + 56
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'font-family="system-ui, sans-serif" font-size="13">',
        "<title>The house of Ukai: rooms on storeys, imports point down</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for index, row in enumerate(rows):
        parts += _storey(row, GAP + index * (ROW + GAP))
    y = height - 22
    parts.append(f'<text x="{LEFT}" y="{y}" fill="#555">A room imports rooms on lower storeys only. ')
    parts[-1] += "Rooms on one storey do not know each other. `make check` holds it.</text>"
    return "\n".join([*parts, "</svg>", ""])


def _storey(row: list[str], y: int) -> list[str]:
    width = (WIDTH - 2 * LEFT - GAP * (len(row) - 1)) / len(row)
    parts: list[str] = []
    for i, room in enumerate(row):
        x = LEFT + i * (width + GAP)
        fill = PLANES.get(room, "#f3f3ef")
        parts.append(
            f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{ROW}" rx="8" fill="{fill}" stroke="#8a8a80"/>'
        )
        parts.append(f'<text x="{x + 12:.0f}" y="{y + 22}" font-weight="600">{escape(room)}</text>')
        lines = textwrap.wrap(purpose(room), max(16, int(width / 6.6)))
        shown = lines[:3] if len(lines) <= 3 else [*lines[:2], lines[2].rstrip(" ,:") + " …"]
        parts += [
            f'<text x="{x + 12:.0f}" y="{y + 42 + 17 * n}" fill="#333">{escape(line)}</text>'
            for n, line in enumerate(shown)
        ]
    return parts


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(draw(), encoding="utf-8")
