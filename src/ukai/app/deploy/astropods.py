"""One `astropods.yml` for each agent, the container manifest of Astro AI (spec blueprint/v1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ukai.app import yaml_text
from ukai.app.deploy.value import DATABASE, MARK, POINTER, Image, Service

FOLDER = "astropods"
FILE = "astropods.yml"
SPEC = "blueprint/v1"
PORT = "80"
"""Where a container of theirs serves its own pages."""


def manifests(services: Sequence[Service], image: Image) -> dict[str, str]:
    """File -> text."""
    return {f"{FOLDER}/{s.agent}/{FILE}": MARK + yaml_text.dumps(_document(s, image)) for s in services}


def _document(service: Service, image: Image) -> dict[str, Any]:
    return {
        "spec": SPEC,
        "name": service.agent,
        "agent": {
            "build": {
                "context": f"../../{image.context}",
                "dockerfile": image.dockerfile,
            },
            "distributed": True,
            "interfaces": {"frontend": True, "messaging": False},
            "healthcheck": {"path": "/healthz", "interval": "30s", "timeout": "5s", "retries": 3},
            "inputs": [
                {"name": POINTER, "datatype": "string", "default": service.agent},
                {"name": "UKAI_PORT", "datatype": "string", "default": PORT},
                *([{"name": "UKAI_SLACK", "datatype": "string", "default": "1"}] if service.is_in_slack else []),
                *[_input(service, name) for name in (DATABASE, *service.secrets)],
            ],
        },
    }


def _input(service: Service, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "datatype": "string", "secret": True}
    return {**found, "optional": True} if name in service.optional else found
