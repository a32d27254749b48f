"""An agent's card, made from its manifest."""

from __future__ import annotations

from typing import Any

from ukai.app.reception import Reception

PROTOCOL = "1.0"
PLAIN, MARKDOWN = "text/plain", "text/markdown"


def card(here: Reception, name: str, *, base: str) -> dict[str, Any]:
    """As the protocol spells it. What is said of the agent is what its own team wrote."""
    opened = here.engine
    agent = opened.agent(name)
    found: dict[str, Any] = {
        "name": agent.name,
        "description": agent.description,
        "version": opened.stamp.commit[:12] or "0",
        "supportedInterfaces": [
            {"url": f"{base}/a2a/{agent.name}", "protocolBinding": "JSONRPC", "protocolVersion": PROTOCOL}
        ],
        "capabilities": {"streaming": True, "pushNotifications": False, "extendedAgentCard": False},
        "defaultInputModes": [PLAIN],
        "defaultOutputModes": [MARKDOWN],
        "skills": [
            {"id": s.name, "name": s.name, "description": s.description, "tags": ["skill"]}
            for s in agent.skills.values()
        ]
        or [{"id": agent.name, "name": agent.name, "description": agent.description, "tags": ["agent"]}],
    }
    login = here.login
    if login is not None:
        provider = f"{login.issuer.rstrip('/')}/.well-known/openid-configuration"
        found["securitySchemes"] = {
            "bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
            "login": {"openIdConnectSecurityScheme": {"openIdConnectUrl": provider}},
        }
        found["securityRequirements"] = [{"schemes": {name: {"list": []}}} for name in ("bearer", "login")]
    return found
