"""A comparison as one self-contained HTML page: no script, no address of anything outside, readable in both colours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from ukai.measure import facts
from ukai.measure.alone import Alone
from ukai.measure.compare import Comparison
from ukai.measure.telling import svg
from ukai.measure.telling.table import amount, moves, verdict

STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --paper: #fdfdfc; --rule: #c9c9c4; --band: #8884;
        --good: #1a7f4b; --bad: #b3261e; --same: #5a6270; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e6e1; --paper: #17181a; --rule: #45474b; --good: #58c08b;
        --bad: #f0857d; --same: #9aa3b2; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem;
       margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--rule); vertical-align: top; }
td.n, th.n { text-align: right; } .better { color: var(--good); } .worse { color: var(--bad); }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; } svg text { fill: var(--ink); }
svg .axis { stroke: var(--rule); } svg .whisker { stroke: var(--same); stroke-width: 2; }
svg .band { fill: var(--band); }
svg .front { fill: none; stroke: var(--good); stroke-dasharray: 4 3; } svg .tick { fill: var(--same); }
svg .good { fill: var(--good); stroke: var(--good); } svg .bad { fill: var(--bad); stroke: var(--bad); }
svg .same { fill: var(--same); } code { font-size: .95em; } .wide { overflow-x: auto; }
"""


def told(comparison: Comparison, *, pool: facts.Pool | None = None) -> str:
    """The page. `pool`: of more versions than the two, where there are some."""
    body = "".join(_sections(comparison, pool or comparison.pool))
    return _page(f"{comparison.before} and {comparison.after}", body)


def alone(each: Sequence[Alone], pool: facts.Pool) -> str:
    """Evaluations side by side that are not compared."""
    body = ""
    for one in each:
        body += f"<h1>{escape(one.name)}</h1>" + _means(one)
        body += _table(
            ("case", "split", "passed", "why not"),
            [(c.id, c.split, f"{c.passed} of {c.of}", "; ".join(c.why)) for c in one.cases],
        )
    body += f"<h2>Share of the pool against cost</h2>{svg.price(pool.points)}{_points(pool)}"
    return _page(", ".join(one.name for one in each), body)


def _means(one: Alone) -> str:
    rows = [
        (
            quantity.name,
            amount(quantity, gap.mean),
            "-" if abs(gap.low) == float("inf") else f"{amount(quantity, gap.low)} to {amount(quantity, gap.high)}",
            gap.cases,
        )
        for quantity, gap in one.means
    ]
    return _table(("quantity", "mean", "95 % interval", "cases"), rows)


def _page(title: str, body: str) -> str:
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    return f'<!doctype html><html lang="en"><head>{head}<style>{STYLE}</style></head><body>{body}</body></html>\n'


def _sections(made: Comparison, pool: facts.Pool) -> Iterator[str]:
    yield f"<h1>{escape(made.before)} → {escape(made.after)}</h1>"
    parts = "; ".join(f"{name}: {', '.join(which)}" for name, which in made.changed.items()) or "nothing"
    yield f"<p>Changed: <code>{escape(parts)}</code></p>"
    yield '<h2>Verdicts</h2><div class="wide">' + _verdicts(made) + "</div>"
    yield f"<h2>Change in points</h2>{svg.intervals(made.rows)}"
    yield "<h2>What moved</h2><ul>" + "".join(f"<li>{escape(line)}</li>" for line in moves(made.moved)) + "</ul>"
    thin = made.thinner
    yield (
        f"<p>Findings that went: had less {thin.had_less}, wrote less {thin.wrote_less}; gained {thin.gained} "
        f"(over {thin.runs} pairs of runs).</p>"
    )
    yield f"<h2>Share of the pool against cost</h2>{svg.price(pool.points)}{_points(pool)}"
    yield from _cases(made)
    if made.examples:
        yield "<h2>Examples of rules judged otherwise than their owners say</h2>" + _table(
            ("example", "should", "before", "after", "text"),
            [(r["example"], r["expects"], r["before"] or "-", r["after"] or "-", r["text"]) for r in made.examples],
        )
    if made.unpaired:
        yield f"<p>Unpaired, in no figure above: {escape(', '.join(made.unpaired))}</p>"


def _verdicts(made: Comparison) -> str:
    rows: list[Sequence[str]] = []
    for row in made.rows:
        gap, unit = row.difference, row.quantity
        interval = (
            "-"
            if abs(gap.low) == float("inf")
            else f"{amount(unit, gap.low, sign=True)} to {amount(unit, gap.high, sign=True)}"
        )
        own = "-" if gap.noise is None else amount(unit, gap.noise)
        rows.append(
            (
                unit.name + (" (gates)" if unit.gates else ""),
                amount(unit, row.before),
                amount(unit, row.after),
                amount(unit, gap.mean, sign=True),
                interval,
                own,
                f"{row.adjusted:.3f}",
                str(gap.cases),
                verdict(row),
            )
        )
    heads = ("quantity", "before", "after", "change", "95 % interval", "own reruns", "p", "cases", "verdict")
    return _table(heads, rows, last=[row.word for row in made.rows])


def _points(pool: facts.Pool) -> str:
    rows = [
        (
            p.name + (" (on the front)" if p.on_front else ""),
            f"{100 * p.share:.1f}%",
            f"{100 * p.low:.1f} to {100 * p.high:.1f}",
            "-" if p.band is None else f"{100 * p.band:.1f}",
            f"{100 * p.weighted:.1f}%",
            f"{100 * p.untraced:.1f}%",
            "-" if p.usd is None else f"{p.usd:.4f}",
        )
        for p in pool.points
    ]
    note = f"<p>Shares of the pool <code>{pool.sha256[:12]}</code> of {pool.size} findings; no other pool compares.</p>"
    heads = ("version", "share", "95 % interval", "own reruns", "weighted by what led", "untraced", "USD a run")
    return _table(heads, rows) + note


def _cases(made: Comparison) -> Iterator[str]:
    """Which cases fell and rose, of the quantities that are news."""
    for row in made.rows:
        if row.word in ("better", "worse"):
            for word, cases in (("fell", row.fell), ("rose", row.rose)):
                if cases:
                    listed = ", ".join(escape(case) for case in cases)
                    yield f"<p><b>{escape(row.quantity.name)}</b> {word} in {len(cases)} cases: {listed}</p>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]], *, last: Sequence[str] = ()) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = ""
    for i, row in enumerate(rows):
        kind = f' class="{last[i]}"' if last and last[i] in ("better", "worse") else ""
        cells = [f"<td>{escape(str(cell))}</td>" for cell in row]
        cells[-1] = f"<td{kind}>{escape(str(row[-1]))}</td>"
        body += f"<tr>{''.join(cells)}</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
