"""The manifest of an agent's Slack app: what it hears, what it may look up, how it shows itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ukai.app import yaml_text
from ukai.app.deploy.value import MARK, Image, Service

FOLDER = "slack"
SCOPES = (
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "channels:read",
    "chat:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "mpim:history",
    "mpim:read",
    "users:read",
    "users:read.email",
)
"""The histories are read to see whether a message or a reply is there; `users:read.email` says who somebody is."""
EVENTS = ("app_home_opened", "app_mention", "message.im")
NAME, DESCRIPTION = 35, 140
"""The most characters that Slack takes."""


def manifests(services: Sequence[Service], image: Image) -> dict[str, str]:
    """File -> text, for those that are in Slack."""
    return {f"{FOLDER}/{s.agent}.yaml": MARK + yaml_text.dumps(_document(s)) for s in services if s.is_in_slack}


def _document(service: Service) -> dict[str, Any]:
    prompts = [{"title": title, "message": message} for title, message in service.prompts]
    return {
        "display_information": {"name": service.agent[:NAME], "description": service.description[:DESCRIPTION]},
        "features": {
            "app_home": {"messages_tab_enabled": True, "messages_tab_read_only_enabled": False},
            "bot_user": {"display_name": service.agent[:NAME], "always_online": True},
            "agent_view": {"agent_description": service.description[:DESCRIPTION], "suggested_prompts": prompts},
        },
        "oauth_config": {"scopes": {"bot": list(SCOPES)}},
        "settings": {
            "event_subscriptions": {"bot_events": list(EVENTS)},
            "interactivity": {"is_enabled": True},
            "socket_mode_enabled": True,
            "org_deploy_enabled": False,
            "token_rotation_enabled": False,
        },
    }
