"""One file for each agent: Deployment, Service, PodDisruptionBudget; one for what runs by itself.

Secrets are named and never written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ukai.app import yaml_text
from ukai.app.deploy.value import DATABASE, MARK, POINTER, PORT, SCHEDULES, USER, Image, Job, Service

FOLDER = "kubernetes"


def manifests(services: Sequence[Service], image: Image) -> dict[str, str]:
    """File -> text."""
    return {f"{FOLDER}/{s.agent}.yaml": MARK + _text(s, image) for s in services}


def jobs(wanted: Sequence[Job], image: Image) -> dict[str, str]:
    """CronJobs, a file each: they do what a server would, and no server need be awake for it."""
    return {f"{FOLDER}/{job.name}.yaml": MARK + yaml_text.dumps(_cron_job(job, image)) for job in wanted}


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
                "spec": _pod(_container(service, image), terminationGracePeriodSeconds=service.drain_s + 15),
            },
        },
    }


def _cron_job(wanted: Job, image: Image) -> dict[str, Any]:
    name = f"ukai-{wanted.name}"
    container = {
        "name": "ukai",
        "image": image.tagged,
        "args": list(wanted.command),
        "env": [_secret_of(name, secret) for secret in (DATABASE, *wanted.secrets)],
        "resources": {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"memory": "2Gi"}},
        **_HARDENED,
    }
    labels = {"app.kubernetes.io/name": "ukai", "app.kubernetes.io/instance": name}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "schedule": wanted.cron,
            "timeZone": wanted.timezone,
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": wanted.grace_s,
            "jobTemplate": {
                "spec": {
                    # It ends with 1 where somebody should look: the same is not done again for that.
                    "backoffLimit": 0,
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": _pod(container, restartPolicy="Never"),
                    },
                }
            },
        },
    }


_HARDENED: dict[str, Any] = {
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    },
    "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108  (of the container)
}


def _pod(container: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "automountServiceAccountToken": False,
        **more,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
    }


def _container(service: Service, image: Image) -> dict[str, Any]:
    return {
        "name": "ukai",
        "image": image.tagged,
        "args": service.command,
        "ports": [{"name": "http", "containerPort": PORT}],
        "env": [
            {"name": POINTER, "value": service.agent},
            # CronJobs do it, on memory of their own.
            *([{"name": SCHEDULES, "value": "off"}] if service.has_jobs else []),
            *[_secret(service, name) for name in (DATABASE, *service.secrets)],
        ],
        "startupProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 3, "failureThreshold": 40},
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 20, "timeoutSeconds": 5},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http"}, "periodSeconds": 5, "timeoutSeconds": 5},
        "resources": {"requests": {"cpu": "200m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}},
        **_HARDENED,
    }


def _secret(service: Service, name: str) -> dict[str, Any]:
    found = _secret_of(_name(service), name)
    if name in service.optional:
        found["valueFrom"]["secretKeyRef"]["optional"] = True
    return found


def _secret_of(owner: str, name: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": owner, "key": name}}}


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
