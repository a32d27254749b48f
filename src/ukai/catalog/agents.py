"""One agent resolved: its families above it, every name looked up, every value with its origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ukai.catalog import prose, tighten, writing
from ukai.catalog.naming import Naming
from ukai.catalog.shelf import Piece, Shelf
from ukai.catalog.skill import TOOLS_ELSEWHERE
from ukai.catalog.source import Declared
from ukai.catalog.value import Origin, Tool
from ukai.context.scope import Scope
from ukai.kit import glob, suggest
from ukai.kit.finding import Finding
from ukai.llm.known import EXTRACTIVE
from ukai.runtime import agent
from ukai.runtime.guardrail import Guardrail

Layer = Piece[agent.Manifest]
MAX_FAMILIES = 8


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """An agent and where each of its values came from."""

    agent: agent.Agent
    origins: Mapping[str, Origin]


class Resolver:
    """Resolves one agent after the other against the same shelf. `findings` grows."""

    def __init__(
        self,
        shelf: Shelf,
        naming: Naming,
        tools: Mapping[str, Tool],
        guardrails: Mapping[str, Piece[Guardrail]],
    ) -> None:
        self.shelf, self.naming, self.tools, self.guardrails = shelf, naming, tools, guardrails
        self.findings: list[Finding] = []
        self._used: set[str] = set()
        for name, piece in shelf.families.items():
            self._family_cycle(name, piece)
            self._policy_and_model(piece)

    def agent(self, name: str) -> Resolved:
        """The agent of this name; whatever it names in vain is a finding and stands in `unresolved`."""
        own = self.shelf.agents[name]
        unresolved: list[str] = []
        layers = [*self._families(own, unresolved), own]
        self._policy_and_model(own)
        declared = self.shelf.own_tools[name][1] if name in self.shelf.own_tools else Declared()
        tools, tool_origin = self._tools(layers, declared, unresolved)
        budget, budget_origins = _budget(layers)
        scope, scope_origin = _scope(layers)
        skills = self._skills(own, tools, budget, scope)
        guardrails = self._guardrails(name, layers)
        self.findings += tighten.findings(layers, self.shelf.access, name)
        pick = _Pick(layers)
        model = pick("model", EXTRACTIVE)
        described = pick("description", None)
        if described is None:
            described = self._description(own, pick)
        families = tuple(f.value.name for f in layers[:-1])
        policies = tuple(dict.fromkeys(p.value.field_policy for p in layers if p.value.field_policy))
        unresolved += [f"field_policy:{p}" for p in policies if p not in self.shelf.access.field_policies]
        channels = _channels(layers, pick)
        retrieval: agent.Retrieval = (
            "strict" if any(p.value.scope_bound_retrieval == "strict" for p in layers) else "off"
        )
        use = self._model_use(model, pick, unresolved)
        value = agent.Agent(
            name=name,
            description=described,
            prompt="\n\n".join(t for p in layers if (t := p.doc.body.strip("\n"))),
            prose=own.doc.body,
            model=model,
            model_use=use,
            max_iterations=_smallest(layers, "max_iterations", pick, agent.MAX_ITERATIONS),
            channels=channels,
            acl_enforcement=True,
            scope_bound_retrieval=retrieval,
            field_policies=policies,
            tools=tools,
            own_tools=declared.specs,
            budget=budget,
            scope=scope,
            families=families,
            skills=skills,
            guardrails=tuple(guardrails),
            output=pick("output", agent.Output()),
            manifest=own.value,
            unresolved=tuple(unresolved),
        )
        origins = {
            **pick.origins,
            **pick.shared(value),
            "tools": tool_origin,
            **budget_origins,
            **self._it_budgets(name),
            "scope": scope_origin,
            "skills": Origin(value=sorted(skills), source="agent", where=own.path) if skills else _nothing(),
            "guardrails": Origin(value=list(guardrails), source=", ".join(guardrails.values()) or "default"),
        }
        return Resolved(agent=value, origins=origins)

    # Families -------------------------------------------------------------------------------------------------------

    def _families(self, own: Layer, unresolved: list[str]) -> list[Layer]:
        """Outermost first. Each is looked up once; a loop ends where it closes."""
        chain: list[Layer] = []
        at = own
        while at.value.family is not None and len(chain) < MAX_FAMILIES:
            name = at.value.family
            known = self.shelf.known("family")
            if at is own or name not in known:
                found = at is not own or self.naming.known("family", name, known, where=at.where("/family"))
                if not found:
                    unresolved.append(f"family:{name}")
            if name not in self.shelf.families:
                if name in known:
                    unresolved.append(f"family:{name}")
                break
            at = self.shelf.families[name]
            if at in chain:
                break
            chain.append(at)
        return chain[::-1]

    def _family_cycle(self, name: str, piece: Layer) -> None:
        if piece.value.family is not None:
            known = self.shelf.known("family")
            self.naming.known("family", piece.value.family, known, where=piece.where("/family"))
        seen = [name]
        step = piece.value.family
        while step in self.shelf.families and step not in seen:
            seen.append(step)
            step = self.shelf.families[step].value.family
        if step == name:
            self.findings.append(
                Finding(
                    code="family_cycle",
                    where=piece.where("/family"),
                    message="families that inherit from themselves: " + " > ".join([*seen, name]),
                    expected="a family that ends at one without `family`",
                    received=str(piece.value.family),
                    hint="remove `family` from one of them",
                )
            )

    # Names ----------------------------------------------------------------------------------------------------------

    def _policy_and_model(self, piece: Layer) -> None:
        manifest = piece.value
        if manifest.model is not None and ("models", "") not in self.shelf.broken:
            self.naming.model(manifest.model, self.shelf.models, where=piece.where("/model"))
        if manifest.field_policy is not None:
            known = self.shelf.known("field_policy")
            self.naming.known("field policy", manifest.field_policy, known, where=piece.where("/field_policy"))

    def _model_use(self, model: str, pick: _Pick, unresolved: list[str]) -> str | None:
        if self.shelf.models.findings(model, where=""):
            unresolved.append(f"model:{model}")
            pick.origins["model_use"] = Origin(value=None, source="unresolved")
            return None
        resolved = self.shelf.models.resolve(model)
        source = "models.yaml" if resolved.where else "product"
        pick.origins["model_use"] = Origin(value=resolved.spec.use, source=source, where=resolved.where)
        return resolved.spec.use

    # Tools ----------------------------------------------------------------------------------------------------------

    def _tools(self, layers: Sequence[Layer], own: Declared, unresolved: list[str]) -> tuple[tuple[str, ...], Origin]:
        left = set(self.tools)
        sources: list[str] = ["the global set"]
        where = ""
        for piece in layers:
            choice = piece.value.tools
            if choice is None:
                continue
            where = piece.where("/tools")
            is_agent = piece is layers[-1]
            local = own.specs.keys() if is_agent else frozenset[str]()
            if choice.include is not None:
                asked = self._matched(piece, "include", choice.include, local, unresolved)
                if is_agent:
                    self._beyond(piece, choice.include, left)
                left &= asked
                sources.append(f"include of {_label(piece, layers)}")
            if choice.exclude:
                left -= self._matched(piece, "exclude", choice.exclude, local, unresolved)
                sources.append(f"exclude of {_label(piece, layers)}")
        excluded = layers[-1].value.tools.exclude if layers[-1].value.tools else ()
        mine = {n for n in own.specs if not any(glob.compile(p).matches(n) for p in excluded)}
        if mine:
            sources.append("own tools.py")
        names = tuple(sorted(left | mine))
        return names, Origin(value=list(names), source=", ".join(sources), where=where)

    def _matched(self, piece: Layer, field: str, patterns: Sequence[str], own: Any, unresolved: list[str]) -> set[str]:
        """The names of the global set that the patterns match; what matches nothing is told."""
        found: set[str] = set()
        for index, pattern in enumerate(patterns):
            where = piece.where(f"/tools/{field}/{index}")
            if problem := glob.problem(pattern):
                self.findings.append(
                    Finding(
                        code="invalid_glob",
                        where=where,
                        message=problem,
                        expected="a tool's name, or a pattern with *",
                        received=pattern,
                        hint="correct the pattern",
                    )
                )
                continue
            known = {*self.tools, *own}
            matched = {n for n in known if glob.compile(pattern).matches(n)}
            found |= matched
            if matched:
                continue
            if "*" not in pattern and "?" not in pattern:
                self.naming.known("tool", pattern, known, where=where)
                if field == "include":
                    unresolved.append(f"tool:{pattern}")
            elif self.shelf.inside:
                self.findings.append(
                    Finding(
                        code="glob_matches_nothing",
                        severity="warning",
                        where=where,
                        message=f"{pattern!r} matches no tool",
                        received=pattern,
                        hint="correct the pattern, or remove it",
                    )
                )
        return found

    def _beyond(self, piece: Layer, patterns: Sequence[str], left: set[str]) -> None:
        """Tools that an agent includes although a family above it took them away."""
        for index, pattern in enumerate(patterns):
            taken = [n for n in self.tools if n not in left and glob.compile(pattern).matches(n)]
            if taken and "*" not in pattern and "?" not in pattern:
                self.findings.append(
                    Finding(
                        code="widened",
                        where=piece.where(f"/tools/include/{index}"),
                        message=f"the family takes {pattern!r} away, so it cannot be included here",
                        expected=", ".join(sorted(left)[:20]),
                        received=pattern,
                        hint="remove it, or change the family",
                    )
                )

    # Skills and guardrails ------------------------------------------------------------------------------------------

    def _skills(
        self, own: Layer, tools: Sequence[str], budget: agent.Budget, scope: Scope | None
    ) -> Mapping[str, agent.Skill]:
        name = own.value.name
        there = {skill: p for (owner, skill), p in self.shelf.skills.items() if owner == name}
        named = own.value.skills
        for index, wanted in enumerate(named or ()):
            known = self.shelf.known(f"skill:{name}")
            self.naming.known("skill", wanted, known, where=own.where(f"/skills/{index}"))
        used = {s: p for s, p in there.items() if named is None or s in named}
        for piece in used.values():
            self.findings += tighten.nested(piece, budget_above=budget, scope_above=scope, agent=name)
            self._allowed(piece, tools)
        return {s: p.value for s, p in sorted(used.items())}

    def _allowed(self, piece: Piece[agent.Skill], tools: Sequence[str]) -> None:
        """`allowed-tools` waives a confirmation; it can name no tool that the agent has not."""
        for written in piece.value.allowed_tools:
            name = written.partition("(")[0]
            if name in tools:
                continue
            elsewhere = name in TOOLS_ELSEWHERE or name.startswith("mcp__")
            if elsewhere or not self.shelf.inside:
                self.findings.append(
                    Finding(
                        code="tool_not_used",
                        severity="note",
                        where=piece.where("/allowed-tools"),
                        message=f"{written!r} is a tool of other clients and not used here",
                        received=written,
                        hint="leave it for the clients that have it",
                    )
                )
                continue
            known = name in self.tools
            self.findings.append(
                Finding(
                    code="widened" if known else "unknown_tool",
                    where=piece.where("/allowed-tools"),
                    message=f"the agent does not have the tool {name!r}" if known else f"no tool is named {name!r}",
                    expected=", ".join(tools[:20]),
                    received=name,
                    hint=suggest.hint_for(name, tools),
                )
            )

    def _guardrails(self, name: str, layers: Sequence[Layer]) -> dict[str, str]:
        """Id -> file of every guardrail that applies."""
        families = {f"family:{p.value.name}" for p in layers[:-1]}
        named = {f"family:{p.value.family}" for p in layers if p.value.family}  # also one that could not be read
        return {
            rule: piece.path
            for rule, piece in sorted(self.guardrails.items())
            if any(t in families | named or glob.compile(t).matches(name) for t in piece.value.applies_to)
        }

    # The rest -------------------------------------------------------------------------------------------------------

    def _description(self, own: Layer, pick: _Pick) -> str:
        sentence = prose.first_sentence(own.doc.body) or own.value.name
        self.findings.append(
            Finding(
                code="description_missing",
                severity="warning",
                where=own.doc.where_key("/name"),
                message="the agent has no description; the first sentence of its prose stands in",
                expected="description",
                hint=f"add `description: {writing.scalar(sentence)}`",
            )
        )
        pick.origins["description"] = Origin(
            value=sentence, source="first sentence of the prose", where=f"{own.path}:{own.doc.body_line}:1"
        )
        return sentence

    def _it_budgets(self, name: str) -> dict[str, Origin]:
        """What IT gives one run, whoever calls; more may hold for some callers."""
        found: dict[str, Origin] = {}
        for entry in self.shelf.access.budgets:
            if entry.to is None and (entry.agent is None or entry.agent.matches(name)):
                for unit, amount in entry.amounts:
                    key = f"limit.{entry.per}.{unit}"
                    known = found.get(key)
                    if known is None or float(amount) < known.value:
                        found[key] = Origin(value=float(amount), source="access/budgets.yaml", where=entry.place)
        return found


class _Pick:
    """The last layer that says something, with its origin."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self.layers = layers
        self.origins: dict[str, Origin] = {}

    def __call__(self, field: str, default: Any) -> Any:
        for piece in reversed(self.layers):
            value = getattr(piece.value, field)
            inherited = piece is not self.layers[-1] and field == "description"
            if value is not None and not inherited:
                where = piece.where(f"/{field}")
                self.origins[field] = Origin(value=_plain(value), source=_label(piece, self.layers), where=where)
                return value
        if default is not None:
            self.origins[field] = Origin(value=_plain(default), source="default")
        return default

    def shared(self, value: agent.Agent) -> dict[str, Origin]:
        """The origins of values that several layers decide together."""
        return {
            "scope_bound_retrieval": self.origin_of("scope_bound_retrieval", value.scope_bound_retrieval),
            "field_policies": self.origin_of("field_policy", list(value.field_policies)),
            "acl_enforcement": self.origin_of("acl_enforcement", value.acl_enforcement),
            "family": self.origin_of("family", list(value.families)),
        }

    def origin_of(self, field: str, value: Any) -> Origin:
        """The origin of a value that several layers decide: the last that names the field."""
        for piece in reversed(self.layers):
            if getattr(piece.value, field) is not None:
                return Origin(value=value, source=_label(piece, self.layers), where=piece.where(f"/{field}"))
        return Origin(value=value, source="default")


def _label(piece: Layer, layers: Sequence[Layer]) -> str:
    return "agent" if piece is layers[-1] else f"family {piece.value.name}"


def _nothing() -> Origin:
    return Origin(value=[], source="default")


def _plain(value: Any) -> Any:
    if isinstance(value, agent.Output):
        return {"lead": value.lead}
    return list(value) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]


def _smallest(layers: Sequence[Layer], field: str, pick: _Pick, default: int) -> int:
    written = [(getattr(p.value, field), p) for p in layers if getattr(p.value, field) is not None]
    if not written:
        return pick(field, default)
    value, piece = min(written, key=lambda pair: pair[0])
    pick.origins[field] = Origin(value=value, source=_label(piece, layers), where=piece.where(f"/{field}"))
    return value


def _channels(layers: Sequence[Layer], pick: _Pick) -> tuple[agent.Channel, ...]:
    """The agent's own order; a family only takes away."""
    written: list[tuple[agent.Channel, ...]] = [c for p in layers if (c := p.value.channels) is not None]
    pick("channels", agent.DEFAULT_CHANNELS)
    if not written:
        return agent.DEFAULT_CHANNELS
    kept: dict[agent.Channel, None] = {c: None for c in written[-1] if all(c in w for w in written)}
    left = tuple(kept)
    origin = pick.origins["channels"]
    pick.origins["channels"] = Origin(value=list(left), source=origin.source, where=origin.where)
    return left


def _budget(layers: Sequence[Layer]) -> tuple[agent.Budget, dict[str, Origin]]:
    """Of each part the smallest."""
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    for unit in tighten.UNITS:
        written = [(getattr(p.value.budget, unit), p) for p in layers if p.value.budget is not None]
        written = [(v, p) for v, p in written if v is not None]
        if written:
            value, piece = min(written, key=lambda pair: pair[0])
            values[unit] = value
            where = piece.where(f"/budget/{unit}")
            origins[f"budget.{unit}"] = Origin(value=value, source=_label(piece, layers), where=where)
    return agent.Budget(**values), origins


def _scope(layers: Sequence[Layer]) -> tuple[Scope | None, Origin]:
    """The innermost, less what any layer excludes. Patterns that no layer above covers are left out."""
    written = [p for p in layers if p.value.scope is not None]
    scopes = [p.value.scope for p in written if p.value.scope is not None]
    if not scopes:
        return None, Origin(value=None, source="default")
    inner, above = scopes[-1], scopes[:-1]
    result = Scope(
        globs=tuple(g for g in inner.globs if all(any(tighten.covers(o, g) for o in s.globs) for s in above)),
        exclude=tuple(dict.fromkeys(e for s in scopes for e in s.exclude)),
        static_ids=tuple(i for i in inner.static_ids if all(i in s.static_ids for s in above)),
        budget_tokens=min(s.budget_tokens for s in scopes),
    )
    value = {
        "globs": list(result.globs),
        "exclude": list(result.exclude),
        "static_ids": list(result.static_ids),
        "budget_tokens": result.budget_tokens,
    }
    return result, Origin(value=value, source=_label(written[-1], layers), where=written[-1].where("/scope"))
