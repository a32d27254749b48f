"""The folder `access/`, read once: the whole of what IT decided, and the door to every right."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ukai.access import budget, caller, field_policy, groups, policy, rule, say
from ukai.access.caller import Audience, Caller
from ukai.access.decision import Decision
from ukai.access.rights import Rights
from ukai.kit import suggest
from ukai.kit.document import Document
from ukai.kit.finding import Finding

FILES = ("groups.yaml", "policies.yaml", "budgets.yaml")
FIELD_POLICIES = "field_policies/"


@dataclass(frozen=True, kw_only=True)
class Access:
    """Everything in force. An empty one denies everything."""

    groups: groups.Groups = field(default_factory=groups.Groups)
    policies: tuple[policy.Policy, ...] = ()
    field_policies: Mapping[str, field_policy.FieldPolicy] = field(default_factory=dict[str, field_policy.FieldPolicy])
    budgets: tuple[budget.Budget, ...] = ()
    types: Mapping[str, frozenset[str]] | None = None
    """With their fields."""
    agents: frozenset[str] | None = None

    def caller(self, principal: str) -> Caller:
        """The principal with its groups. Unknown: only itself and `public`. Malformed: nobody."""
        return caller.of(self.groups, principal)

    def audience(self, principals: Iterable[str]) -> Audience:
        """All of them at once, each counted once; the first is the one who asks."""
        return Audience(callers=tuple({c.id: c for c in map(self.caller, principals)}.values()))

    def rights(
        self,
        audience: Audience | Caller,
        agent: str,
        field_policy: str | Sequence[str] | None = None,
        channel: str | None = None,
    ) -> Rights:
        """Compiled rights with one agent. Several field policies (the agent's, its family's) leave what all list.

        No field policy leaves every field that the policies allow; one that nobody can read leaves none.
        """
        names = [field_policy] if isinstance(field_policy, str) else list(field_policy or ())
        return Rights(
            audience=Audience(callers=(audience,)) if isinstance(audience, Caller) else audience,
            agent=agent,
            channel=channel,
            policies=self.policies,
            allowlist=self._allowlist(names),
            types=self.types,
            agents=self.agents,
        )

    def holds(self, who: Caller, right: str) -> Decision:
        """Whether the caller holds `impersonate`, `audit`, `upload`, `promote` or `approximate`."""
        member = rule.member(who, self.policies, right=right, agent="", channel=None)
        return say.simple(right, "here", [member], self.policies)

    def budget(self, who: Caller, agent: str) -> tuple[budget.Limit, ...]:
        """The smallest limit that applies, for each period and unit that has one."""
        return budget.limits(self.budgets, who, agent)

    def _allowlist(self, names: Sequence[str]) -> field_policy.Allowlist:
        found = {n: self.field_policies[n] for n in names if n in self.field_policies}
        unknown = tuple(n for n in names if n not in self.field_policies)
        return field_policy.Allowlist(policies=tuple(found.values()), unknown=unknown)


def read(
    documents: Mapping[str, Document | None],
    *,
    types: Mapping[str, frozenset[str]] | None = None,
    agents: Collection[str] | None = None,
) -> tuple[Access, list[Finding]]:
    """What the files of `access/` say, and what is wrong with them.

    `documents`: name inside the folder (`groups.yaml`, `field_policies/x.yaml`) -> document, None for a file that
    could not be read. `types` (with their fields) and `agents` make names that nobody declares errors.
    An entry with an error allows nothing and denies all that it may have meant to deny.
    """
    findings: list[Finding] = []

    def part(name: str, reader: Callable[[Document | None], tuple[Any, list[Finding]]], absent: Any) -> Any:
        if name not in documents:
            return absent
        value, found = reader(documents[name])
        findings.extend(found)
        return value

    known = part("groups.yaml", groups.read, groups.Groups())
    world = policy.World(groups=known, types=types, agents=agents)
    policies = part("policies.yaml", lambda doc: policy.read(doc, world), ())
    budgets = part("budgets.yaml", lambda doc: budget.read(doc, known, agents), ())
    listed: dict[str, field_policy.FieldPolicy] = {}
    for name, doc in documents.items():
        stem = name.removeprefix(FIELD_POLICIES).removesuffix(".yaml")
        if name.startswith(FIELD_POLICIES) and name.endswith(".yaml") and stem and doc is not None:
            found, more = field_policy.read(doc, stem, types)
            findings += more
            if found is not None:
                listed[stem] = found
        elif name not in FILES and not name.startswith(FIELD_POLICIES):
            findings.append(_stranger(name))
    access = Access(
        groups=known,
        policies=policies,
        field_policies=listed,
        budgets=budgets,
        types=types,
        agents=None if agents is None else frozenset(agents),
    )
    return access, findings


def _stranger(name: str) -> Finding:
    return Finding(
        code="unknown_file",
        where=f"{name}:1:1",
        message=f"nothing reads a file named {name!r} in access/",
        expected=", ".join((*FILES, f"{FIELD_POLICIES}NAME.yaml")),
        received=name,
        hint=suggest.hint_for(name, FILES),
    )
