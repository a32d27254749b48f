"""The OpenAPI document: what FastAPI derives, with the form of a delta and of a problem added."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from ukai.app import propose
from ukai.surfaces.http.asking import Asked
from ukai.surfaces.http.context import Wanted
from ukai.surfaces.http.problems import MEDIA
from ukai.surfaces.http.undoing import Named

_REFS = "#/components/schemas/"
_TEXT = {"type": "string"}
_FORMS: dict[str, type[BaseModel]] = {"/agents/{name}/ask": Asked, "/context/compose": Wanted, "/undo": Named}
"""Bodies whose head and size are looked at before they are read, so that FastAPI does not know of them."""
_ANSWERS: dict[str, dict[str, str]] = {
    "agents": {"agents": "array"},
    "ask": {"run_id": "string", "status": "string", "text": "string", "sources": "array"},
    "compose": {"id": "string", "text": "string"},
    "explain": {"id": "string"},
    "replay_composition": {"id": "string", "same": "boolean", "changed": "array", "text": "string"},
    "offloaded": {"ref": "string", "handle": "string", "field": "string", "text": "string"},
    "propose": {"status": "string"},
    "undo": {"status": "string"},
    "runs": {"runs": "array"},
    "types": {"types": "array"},
    "changes": {"changes": "array"},
    "health": {"ok": "boolean"},
    "ready": {"ok": "boolean", "agents": "integer"},
}
"""Operation -> the members that its answer always has. All answers are objects."""
_PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "RFC 9457. Of a rejection, `errors` are its findings, each with its place in the delta.",
    "required": ["type", "title", "status", "detail", "errors"],
    "properties": {
        "type": {"type": "string", "description": "urn:ukai:rejection:<code> or urn:ukai:problem:<name>"},
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": _TEXT,
        "attempts_left": {"type": ["integer", "null"]},
        "attempt": {"type": "integer"},
        "more": {"type": "integer", "description": "How many errors are not shown."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["code", "where", "message", "hint"],
                "properties": {
                    "code": _TEXT,
                    "where": {"type": "string", "description": "A JSON pointer into the delta, or a parameter."},
                    "pointer": {"type": "string", "description": "The same as a fragment, #/ops/0/set/title."},
                    "message": _TEXT,
                    "expected": _TEXT,
                    "received": _TEXT,
                    "hint": _TEXT,
                },
            },
        },
    },
}


def install(app: FastAPI) -> None:
    """Let the application give the document under `/openapi.json`."""
    derive = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _completed(derive())
        return app.openapi_schema

    app.openapi = openapi


def _completed(document: dict[str, Any]) -> dict[str, Any]:
    delta = propose.delta_schema(refs=_REFS)
    schemas: dict[str, Any] = {**delta.pop("$defs"), "Delta": delta, "Problem": _PROBLEM}
    for form in _FORMS.values():
        schema = form.model_json_schema(ref_template=f"{_REFS}{{model}}")
        schemas |= {**schema.pop("$defs", {}), form.__name__: schema}
    document["components"] = {"schemas": schemas}
    refused = {"description": "Refused.", "content": {MEDIA: {"schema": {"$ref": f"{_REFS}Problem"}}}}
    for path in document["paths"].values():
        for operation in path.values():
            fine = operation["responses"]["200"]
            fine["content"]["application/json"] = {"schema": _answer(_ANSWERS.get(operation["operationId"], {}))}
            operation["responses"] = {"200": fine, "default": refused}
    for path, name in {"/mutations": "Delta", **{p: form.__name__ for p, form in _FORMS.items()}}.items():
        document["paths"][path]["post"]["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": f"{_REFS}{name}"}}},
        }
    return document


def _answer(members: dict[str, str]) -> dict[str, Any]:
    """An object with these members, and others that depend on what was asked for."""
    return {"type": "object", "required": [*members], "properties": {n: {"type": kind} for n, kind in members.items()}}
