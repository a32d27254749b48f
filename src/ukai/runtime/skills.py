"""Skills: named by whoever asks, or found by the model; only their names stand in the prompt until one is used (P5.1).

/renewal-check Is Quillon safe?         the skill's prose joins the prompt, and its scope and budget hold
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ukai.kit import suggest
from ukai.kit.errors import PermanentError, ToolRetry
from ukai.runtime.agent import Skill
from ukai.runtime.tools import Bound, ToolSpec
from ukai.runtime.turn import Attachment

USE_SKILL = "use_skill"
_NAMED = re.compile(r"\s*/(?P<name>[a-z0-9]+(?:-[a-z0-9]+)*)(?:\s+(?P<rest>.*))?\Z", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A question, and the skill that it names."""

    question: str
    skill: Skill | None = None


def wanted(question: str, skills: Mapping[str, Skill], *, named: str | None = None) -> Wanted:
    """The skill that `named` or the question's first word names; a question that names none stays as it is.

    Raises UnknownSkill for a name that `named` gives in vain.
    """
    if named is not None:
        if named not in skills:
            raise UnknownSkill(named, skills)
        return Wanted(question=question, skill=skills[named])
    match = _NAMED.match(question)
    skill = skills.get(match["name"]) if match else None
    if match is None or skill is None:
        return Wanted(question=question)
    return Wanted(question=(match["rest"] or "").strip() or skill.description or skill.name, skill=skill)


class UnknownSkill(PermanentError):
    """The agent has no skill of this name."""

    def __init__(self, name: str, skills: Mapping[str, Skill]) -> None:
        super().__init__(f"no skill is named {name!r}", hint=suggest.hint_for(name, sorted(skills)).capitalize())


def prose(skill: Skill) -> str:
    """What a skill adds to the prompt."""
    return f"# Skill {skill.name}\n\n{skill.prose.strip()}"


def offered(skills: Mapping[str, Skill]) -> Attachment | None:
    """The skills by name and description, and the tool that brings the prose of one."""
    if not skills:
        return None
    listed = "\n".join(f"- {name}: {skill.description}" for name, skill in sorted(skills.items()))

    async def use(*, name: str) -> str:
        if name not in skills:
            raise ToolRetry(f"no skill is named {name!r}: {suggest.hint_for(name, sorted(skills))}")
        return prose(skills[name])

    spec = ToolSpec(
        name=USE_SKILL,
        description="Get the instructions of one of your skills by its name, before you work on what it is for.",
        input_schema={
            "type": "object",
            "properties": {"name": {"type": "string", "enum": sorted(skills)}},
            "required": ["name"],
        },
        target_args=("name",),
    )
    return Attachment(prose=f"# Your skills\n\n{listed}", tools=(Bound(spec=spec, call=use),))
