"""One agent turn, and the values it works with: the agent, its guardrails, its tools."""

from ukai.runtime.agent import Agent, Family, Manifest, Skill
from ukai.runtime.guardrail import Guardrail
from ukai.runtime.tools import ToolSpec

__all__ = ["Agent", "Family", "Guardrail", "Manifest", "Skill", "ToolSpec"]
