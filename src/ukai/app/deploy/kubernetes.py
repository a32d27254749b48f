"""One file for each agent: Deployment, Service, PodDisruptionBudget. Secrets are named and never written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ukai.app import yaml_text
from ukai.app.deploy.value import DATABASE, MARK, POINTER, PORT, USER, Image, Service

FOLDER = "kubernetes"


def manifests(services: Sequence[Service], image: Image) -> dict[str, str]:
    """File -> text."""
    return {f"{FOLDER}/{s.agent}.yaml": MARK + _text(s, image) for s in services}


def _text(service: Service, image: Image) -> str:
    documents = (_deployment(service, image), _service(service), _disruption(service))
    return "---\n".join(yaml_text.dumps(d) for d in documents)


def _name(service: Service) -> str:
    return f"ukai-{service.agent}"[:63].rstrip("-")


def _labels(service: Service) -> dict[str, str]:
    return {"app.kubernetes.io/name": "ukai", "app.kubernetes.io/instance": _name(service)}


def _deployment(service: Service, image: Image) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": _name(service), "labels": _labels(service)},
        "spec": {
            "replicas": 2,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            "selector": {"matchLabels": _labels(service)},
            "template": {
                "metadata": {"labels": _labels(service)},
                "spec": {
                    "automountServiceAccountToken": False,
                    "terminationGracePeriodSeconds": service.drain_s + 15,
                    "securityContext": {
                        "runAsNonRoot": True,
                        "runAsUser": USER,
                        "runAsGroup": USER,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [_container(service, image)],
                    "volumes": [{"name": "tmp", "emptyDir": {}}],
                },
            },
        },
    }


def _container(service: Service, image: Image) -> dict[str, Any]:
    return {
        "name": "ukai",
        "image": image.tagged,
        "args": service.command,
        "ports": [{"name": "http", "containerPort": PORT}],
        "env": [
            {"name": POINTER, "value": service.agent},
            *[_secret(service, name) for name in (DATABASE, *service.secrets)],
        ],
        "startupProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 3, "failureThreshold": 40},
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 20, "timeoutSeconds": 5},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http"}, "periodSeconds": 5, "timeoutSeconds": 5},
        "resources": {"requests": {"cpu": "200m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108  (of the container)
    }


def _secret(service: Service, name: str) -> dict[str, Any]:
    key: dict[str, Any] = {"name": _name(service), "key": name}
    if name in service.optional:
        key["optional"] = True
    return {"name": name, "valueFrom": {"secretKeyRef": key}}


def _service(service: Service) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": _name(service), "labels": _labels(service)},
        "spec": {"selector": _labels(service), "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
    }


def _disruption(service: Service) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": _name(service), "labels": _labels(service)},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": _labels(service)}},
    }
