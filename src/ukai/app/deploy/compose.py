"""One Compose file: the database and a service for each agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ukai.app import yaml_text
from ukai.app.deploy.value import COMMIT, DATABASE, MARK, POINTER, PORT, TREE, Image, Service

FILE = "compose.yaml"
POSTGRES = "pgvector/pgvector:0.8.2-pg18-trixie"


def manifests(services: Sequence[Service], image: Image) -> dict[str, str]:
    """File -> text."""
    document: dict[str, Any] = {
        "name": image.name.rpartition("/")[2].partition(":")[0],
        "services": {
            "db": _database(),
            **{s.agent: _service(s, image, PORT + i) for i, s in enumerate(services)},
        },
        "volumes": {"ukai-data": {}},
    }
    return {FILE: MARK + yaml_text.dumps(document)}


def _database() -> dict[str, Any]:
    return {
        "image": POSTGRES,
        "environment": {
            "POSTGRES_USER": "ukai",
            "POSTGRES_DB": "ukai",
            "POSTGRES_PASSWORD": "${UKAI_DB_PASSWORD:?set it in .env}",
        },
        "volumes": ["ukai-data:/var/lib/postgresql"],
        "healthcheck": {"test": ["CMD-SHELL", "pg_isready -U ukai"], "interval": "5s", "timeout": "3s", "retries": 20},
        "restart": "unless-stopped",
    }


def _service(service: Service, image: Image, port: int) -> dict[str, Any]:
    secrets = {
        name: f"${{{name}:-}}" if name in service.optional else f"${{{name}:?set it in .env}}"
        for name in service.secrets
    }
    return {
        "image": image.tagged,
        "build": {
            "context": image.context,
            "dockerfile": image.dockerfile,
            "args": {name: f"${{{name}:-}}" for name in (COMMIT, TREE)},
        },
        "command": service.command,
        "environment": {
            POINTER: service.agent,
            DATABASE: "postgresql://ukai:${UKAI_DB_PASSWORD}@db:5432/ukai",
            **secrets,
        },
        "ports": [f"127.0.0.1:{port}:{PORT}"],
        "depends_on": {"db": {"condition": "service_healthy"}},
        "stop_grace_period": f"{service.drain_s + 15}s",
        "restart": "unless-stopped",
        "read_only": True,
        "tmpfs": ["/tmp"],  # noqa: S108  (of the container)
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
    }
