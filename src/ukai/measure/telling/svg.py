"""Charts as inline SVG: intervals of every quantity, and share against cost with bands and the Pareto front.

No script and no foreign font; colours come from the page's own variables, and every mark has its words beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape

from ukai.measure.compare import Row
from ukai.measure.facts import Point

WIDTH, ROW_HEIGHT, LABEL = 640, 26, 150
PLOT_HEIGHT, EDGE = 320, 56
_Scale = Callable[[float], float]


def intervals(rows: Sequence[Row]) -> str:
    """One line a quantity that is a share: the change in points with its interval and the reruns' own band."""
    shares = [row for row in rows if not row.quantity.unit and abs(row.difference.low) != float("inf")]
    if not shares:
        return ""
    reach = max(0.05, *(abs(v) for row in shares for v in (row.difference.low, row.difference.high)))
    height = ROW_HEIGHT * (len(shares) + 1) + 10

    def x(value: float) -> float:
        return round(LABEL + (WIDTH - LABEL - 20) * (value / reach + 1) / 2, 1)

    parts = [_line(x(0), 4, x(0), height - ROW_HEIGHT, "axis")]
    for i, row in enumerate(shares):
        y = ROW_HEIGHT * i + 18
        gap = row.difference
        if gap.noise:
            wide = x(gap.noise) - x(-gap.noise)
            parts.append(f'<rect class="band" x="{x(-gap.noise)}" y="{y - 8}" width="{wide:.1f}" height="16"/>')
        parts.append(f'<text x="0" y="{y + 4}">{escape(row.quantity.name)}</text>')
        parts.append(_line(x(gap.low), y, x(gap.high), y, f"whisker {_class(row)}"))
        parts.append(f'<circle class="{_class(row)}" cx="{x(gap.mean)}" cy="{y}" r="4">{_title(row)}</circle>')
    foot = height - 6
    for value in (-reach, 0.0, reach):
        parts.append(f'<text class="tick" x="{x(value)}" y="{foot}" text-anchor="middle">{100 * value:+.0f}</text>')
    label = "Change of each share in points, with 95 % intervals; the grey band is what reruns differ by"
    return _svg(WIDTH, height, label, parts)


def _title(row: Row) -> str:
    gap = row.difference
    said = (
        f"{row.quantity.name}: {100 * gap.mean:+.1f} points [{100 * gap.low:+.1f}, {100 * gap.high:+.1f}], {row.word}"
    )
    return f"<title>{escape(said)}</title>"


def _class(row: Row) -> str:
    return {"better": "good", "worse": "bad"}.get(row.word, "same")


def price(points: Sequence[Point]) -> str:
    """Share of the pool against dollars a run; versions on the front are joined. Unpriced ones stand at the left."""
    if not points:
        return ""
    most = max([p.usd for p in points if p.usd] or [1.0])

    def x(usd: float | None) -> float:
        return round(EDGE + (WIDTH - 2 * EDGE) * ((usd or 0.0) / most), 1)

    def y(share: float) -> float:
        return round(PLOT_HEIGHT - 40 - (PLOT_HEIGHT - 70) * share, 1)

    parts = [_line(EDGE, y(0), WIDTH - EDGE, y(0), "axis"), _line(EDGE, y(0), EDGE, y(1), "axis")]
    parts += [f'<text class="tick" x="{EDGE - 8}" y="{y(v) + 4}" text-anchor="end">{100 * v:.0f}%</text>'
              for v in (0.0, 0.5, 1.0)]  # fmt: skip
    parts += [f'<text class="tick" x="{x(most * v)}" y="{y(0) + 18}" text-anchor="middle">{most * v:.4f}</text>'
              for v in (0.0, 0.5, 1.0)]  # fmt: skip
    front = sorted((p for p in points if p.on_front), key=lambda p: (p.usd or 0.0, p.share))
    if len(front) > 1:
        line = " ".join(f"{x(p.usd)},{y(p.share)}" for p in front)
        parts.append(f'<polyline class="front" points="{line}"/>')
    for point in points:
        parts += _point(point, x(point.usd), y)
    label = "Share of the pool of facts against dollars a run; bars are 95 % intervals, bands what reruns differ by"
    return _svg(WIDTH, PLOT_HEIGHT, label, parts)


def _point(point: Point, x: float, y: _Scale) -> Iterator[str]:
    if point.band:
        top, bottom = y(min(1.0, point.share + point.band)), y(max(0.0, point.share - point.band))
        yield f'<rect class="band" x="{x - 12}" y="{top}" width="24" height="{bottom - top:.1f}"/>'
    yield _line(x, y(point.low), x, y(point.high), "whisker")
    kind = "good" if point.on_front else "same"
    cost = "no price known" if point.usd is None else f"{point.usd:.4f} USD"
    said = f"{point.name}: {100 * point.share:.1f}% [{100 * point.low:.1f}, {100 * point.high:.1f}], {cost}"
    yield f'<circle class="{kind}" cx="{x}" cy="{y(point.share)}" r="5"><title>{escape(said)}</title></circle>'
    yield f'<text x="{x + 9}" y="{y(point.share) - 7}">{escape(point.name)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'


def _svg(width: int, height: int, label: str, parts: Sequence[str]) -> str:
    inside = "".join(parts)
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label, quote=True)}">{inside}</svg>'
