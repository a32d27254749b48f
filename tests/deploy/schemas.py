"""What each target takes, as far as we use it: written from the targets' documentation, unknown keys refused."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]
TEXT: Schema = {"type": "string", "minLength": 1}
TEXTS: Schema = {"type": "array", "items": TEXT, "minItems": 1}
WHOLE: Schema = {"type": "integer", "minimum": 0}
DURATION: Schema = {"type": "string", "pattern": r"^\d+(ms|s|m)$"}
DNS: Schema = {"type": "string", "pattern": r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}
ENV: Schema = {"type": "string", "pattern": r"^[A-Z_][A-Z0-9_]*$"}


def object_(required: str = "", /, **properties: Any) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def map_(values: Schema, *, names: Schema = TEXT) -> Schema:
    return {"type": "object", "additionalProperties": values, "propertyNames": names}


# Compose specification: services, volumes.
COMPOSE = object_(
    "services",
    name={"type": "string", "pattern": r"^[a-z0-9][a-z0-9_-]*$"},
    services=map_(
        object_(
            "image",
            image=TEXT,
            build=object_("context", context=TEXT, dockerfile=TEXT, args=map_({"type": "string"}, names=ENV)),
            command=TEXTS,
            environment=map_({"type": "string"}, names=ENV),
            ports={"type": "array", "items": {"type": "string", "pattern": r"^127\.0\.0\.1:\d+:\d+$"}},
            volumes=TEXTS,
            healthcheck=object_("test", test=TEXTS, interval=DURATION, timeout=DURATION, retries=WHOLE),
            depends_on=map_(object_("condition", condition={"enum": ["service_healthy", "service_started"]})),
            stop_grace_period=DURATION,
            restart={"enum": ["no", "always", "on-failure", "unless-stopped"]},
            read_only={"type": "boolean"},
            tmpfs=TEXTS,
            cap_drop=TEXTS,
            security_opt=TEXTS,
        ),
        names=DNS,
    ),
    volumes=map_({"type": "object"}),
)

# Kubernetes 1.30: apps/v1 Deployment, v1 Service, policy/v1 PodDisruptionBudget.
LABELS = map_({"type": "string", "pattern": r"^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"})
META = object_("name labels", name=DNS, labels=LABELS)
SELECTOR = object_("matchLabels", matchLabels=LABELS)
PROBE = object_(
    "httpGet",
    httpGet=object_("path port", path={"type": "string", "pattern": "^/"}, port=TEXT),
    periodSeconds=WHOLE,
    timeoutSeconds=WHOLE,
    failureThreshold=WHOLE,
)
VARIABLE: Schema = {
    "oneOf": [
        object_("name value", name=ENV, value={"type": "string"}),
        object_(
            "name valueFrom",
            name=ENV,
            valueFrom=object_(
                "secretKeyRef", secretKeyRef=object_("name key", name=DNS, key=ENV, optional={"type": "boolean"})
            ),
        ),
    ]
}
CONTAINER = object_(
    "name image securityContext resources",
    name=DNS,
    image=TEXT,
    args=TEXTS,
    ports={"type": "array", "items": object_("containerPort", name=DNS, containerPort=WHOLE)},
    env={"type": "array", "items": VARIABLE},
    startupProbe=PROBE,
    livenessProbe=PROBE,
    readinessProbe=PROBE,
    resources=object_("", requests=map_(TEXT), limits=map_(TEXT)),
    securityContext=object_(
        "",
        allowPrivilegeEscalation={"const": False},
        readOnlyRootFilesystem={"const": True},
        capabilities=object_("drop", drop={"const": ["ALL"]}),
    ),
    volumeMounts={"type": "array", "items": object_("name mountPath", name=DNS, mountPath=TEXT)},
)
POD = object_(
    "containers",
    automountServiceAccountToken={"const": False},
    terminationGracePeriodSeconds=WHOLE,
    securityContext=object_(
        "runAsNonRoot",
        runAsNonRoot={"const": True},
        runAsUser={"type": "integer", "minimum": 1},
        runAsGroup={"type": "integer", "minimum": 1},
        seccompProfile=object_("type", type={"const": "RuntimeDefault"}),
    ),
    containers={"type": "array", "items": CONTAINER, "minItems": 1},
    restartPolicy={"enum": ["Always", "OnFailure", "Never"]},
    volumes={"type": "array", "items": object_("name", name=DNS, emptyDir={"type": "object"})},
)
KUBERNETES: dict[str, Schema] = {
    "Deployment": object_(
        "apiVersion kind metadata spec",
        apiVersion={"const": "apps/v1"},
        kind=TEXT,
        metadata=META,
        spec=object_(
            "selector template",
            replicas=WHOLE,
            strategy=object_(
                "type",
                type={"enum": ["RollingUpdate", "Recreate"]},
                rollingUpdate=object_("", maxUnavailable=WHOLE, maxSurge=WHOLE),
            ),
            selector=SELECTOR,
            template=object_("metadata spec", metadata=object_("labels", labels=LABELS), spec=POD),
        ),
    ),
    "Service": object_(
        "apiVersion kind metadata spec",
        apiVersion={"const": "v1"},
        kind=TEXT,
        metadata=META,
        spec=object_(
            "ports",
            selector=LABELS,
            ports={
                "type": "array",
                "items": object_("port", name=DNS, port=WHOLE, targetPort={"type": ["string", "integer"]}),
            },
        ),
    ),
    "CronJob": object_(
        "apiVersion kind metadata spec",
        apiVersion={"const": "batch/v1"},
        kind=TEXT,
        metadata=META,
        spec=object_(
            "schedule jobTemplate",
            schedule=TEXT,
            timeZone=TEXT,
            concurrencyPolicy={"enum": ["Allow", "Forbid", "Replace"]},
            startingDeadlineSeconds=WHOLE,
            jobTemplate=object_(
                "spec",
                spec=object_(
                    "template",
                    backoffLimit=WHOLE,
                    template=object_("metadata spec", metadata=object_("labels", labels=LABELS), spec=POD),
                ),
            ),
        ),
    ),
    "PodDisruptionBudget": object_(
        "apiVersion kind metadata spec",
        apiVersion={"const": "policy/v1"},
        kind=TEXT,
        metadata=META,
        spec=object_("selector", minAvailable=WHOLE, selector=SELECTOR),
    ),
}

# Astro AI, spec blueprint/v1.
ASTROPODS = object_(
    "spec name agent",
    spec={"const": "blueprint/v1"},
    name=DNS,
    agent=object_(
        "build",
        build=object_("context dockerfile", context=TEXT, dockerfile=TEXT, args=map_({"type": "string"})),
        distributed={"type": "boolean"},
        interfaces=object_("", frontend={"type": "boolean"}, messaging={"type": "boolean"}),
        healthcheck=object_("", path=TEXT, interval=DURATION, timeout=DURATION, retries=WHOLE),
        inputs={
            "type": "array",
            "items": object_(
                "name datatype",
                name=ENV,
                datatype={"enum": ["string", "boolean", "number", "array", "object"]},
                secret={"type": "boolean"},
                default={"type": "string"},
                optional={"type": "boolean"},
            ),
        },
    ),
)

# A Slack app's manifest.
FLAG: Schema = {"type": "boolean"}
SLACK = object_(
    "display_information features oauth_config settings",
    display_information=object_(
        "name", name={**TEXT, "maxLength": 35}, description={"type": "string", "maxLength": 140}
    ),
    features=object_(
        "bot_user",
        app_home=object_("", messages_tab_enabled=FLAG, messages_tab_read_only_enabled=FLAG),
        bot_user=object_("display_name", display_name=TEXT, always_online=FLAG),
        agent_view=object_(
            "agent_description",
            agent_description=TEXT,
            suggested_prompts={
                "type": "array",
                "maxItems": 4,
                "items": object_("title message", title=TEXT, message=TEXT),
            },
        ),
    ),
    oauth_config=object_("scopes", scopes=object_("bot", bot=TEXTS)),
    settings=object_(
        "",
        event_subscriptions=object_("bot_events", bot_events=TEXTS),
        interactivity=object_("is_enabled", is_enabled=FLAG),
        socket_mode_enabled=FLAG,
        org_deploy_enabled=FLAG,
        token_rotation_enabled=FLAG,
    ),
)
