"""The pages: every one says under which policy its scripts run, and loads nothing from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ukai.app import live, run
from ukai.surfaces.web import text

BASE = "/page"
HERE = Path(__file__).parent
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_PAGES = Environment(
    loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)


def page(request: Request, name: str, *, code: int = 200, who: str = "", **values: Any) -> Response:
    """A page of a template."""
    here = request.app.state.reception
    shown = _PAGES.get_template(f"{name}.html.j2").render(
        base=BASE,
        company=here.engine.catalog.settings.company,
        who=who,
        can_leave=bool(who) and "who" in request.session,
        **values,
    )
    return HTMLResponse(shown, status_code=code, headers=HEADERS)


def asset(name: str, media: str) -> Response:
    """One of the two files beside the templates."""
    raw = (HERE / "static" / name).read_bytes()
    return Response(raw, media_type=media, headers={**HEADERS, "Cache-Control": "no-cache"})


def answer(outcome: live.Outcome) -> str:
    """The answer of a turn that has just ended, as a fragment."""
    values = parts(
        outcome.run.run_id,
        outcome.status,
        outcome.text if outcome.status == "answered" else "",
        outcome.text,
        [{"key": s.key, "text": s.text, "as_of": s.as_of} for s in outcome.sources],
    )
    return _PAGES.get_template("answer.html.j2").render(base=BASE, **values)


def parts(run_id: str, status: str, markdown: str, reason: str, sources: list[dict[str, Any]]) -> dict[str, Any]:
    """What the fragment of an answer shows."""
    html = text.of(markdown, [s["key"] for s in sources], run_id=run_id) if markdown else ""
    return {"run_id": run_id, "status": status, "html": html, "reason": reason, "sources": sources}


def run_page(request: Request, found: dict[str, Any], reports: list[dict[str, Any]], *, who: str) -> Response:
    """A saved run with everything that explains it: what `run.why` gives, and the reports of its compositions."""
    said = found["answer"] or ""
    shown = parts(found["run_id"], found["status"], said, found["reason"], found["sources"])
    checks = [_check(c) for c in found["checks"]]
    return page(request, "run", who=who, why=found, reports=reports, checks=checks, **shown)


def _check(score: dict[str, Any]) -> dict[str, str]:
    if score.get("unable"):
        return {"check": score["check"], "said": f"cannot say: {score['unable']}"}
    flags = [f"{f['kind']}: {f['words']}" for f in score["flags"]]
    return {"check": score["check"], "said": "; ".join(flags[:5]) or "nothing to point at"}


__all__ = ["BASE", "HEADERS", "answer", "asset", "page", "run", "run_page"]
