"""`models.yaml`: which model a name stands for, where its key is found, and which server speaks for it.

    aliases: {"<small-fast-model>": extractive}
    models: {big: {use: "anthropic:NAME", key: ANTHROPIC_API_KEY}}
    rerankers: {quick: {use: NAME, base_url: "https://api.example.com/v1", key: RERANK_API_KEY}}

A key is the NAME of an environment variable. A value that looks like the secret itself is an error that does not
repeat it. Page: docs/reference/models.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from ukai.kit import document, shape, suggest
from ukai.kit.errors import PermanentError
from ukai.kit.finding import Finding, errors
from ukai.llm.known import EXTRACTIVE, OWN_SERVER, PROVIDERS, SCORE

_ENV_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,79}\Z")
_ACCESS_KEY = re.compile(r"(?=.*[0-9])[A-Z0-9]{16,}\Z")
"""All capitals and digits without an underscore, such as AKIA...: an identifier that was issued, not a name."""
_SECRET = re.compile(r"(sk|pk|key|ghp|gsk|xai|hf|AIza|AKIA|eyJ)[-_A-Za-z0-9]{12,}")
OURS = frozenset({"model", "query", "documents", "texts", "top_n", "top_k", "return_documents", "return_text"})
"""Of a request to a reranker: who is asked what, and that all scores come back."""
_KEY_FIELDS = ("key", "apikey", "token", "secret", "password")


class UnknownModel(PermanentError):
    """A name that neither an alias, a model nor a provider answers to."""

    def __init__(self, name: str, *, known: tuple[str, ...]) -> None:
        super().__init__(f"no model is named {name!r}", hint=suggest.hint_for(name, known).capitalize())
        self.name, self.known = name, known


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """One model as it was written down."""

    __pydantic_config__ = shape.STRICT

    use: str
    """`extractive`, or `provider:name` as the provider spells the model."""
    key: str | None = None
    """The name of the environment variable that holds the key; None is the provider's usual one."""
    base_url: str | None = None
    """A server of one's own that speaks the provider's language."""

    @property
    def provider(self) -> str:
        """The part before the colon; `extractive` for our own."""
        return self.use.partition(":")[0]

    @property
    def name(self) -> str:
        """The part after the colon."""
        return self.use.partition(":")[2] or self.use

    @property
    def variable(self) -> str | None:
        """The environment variable with its key: its own, or its provider's; none of a server of one's own."""
        return self.key or (None if self.base_url else PROVIDERS.get(self.provider))


@dataclass(frozen=True, kw_only=True)
class RerankerSpec:
    """One server that scores texts against a question, as it was written down."""

    __pydantic_config__ = shape.STRICT

    use: str
    """The model's name, as the server spells it."""
    base_url: str
    """The address above `/rerank`."""
    key: str | None = None
    """The name of the environment variable that holds the key; None sends none."""
    speaks: Literal["cohere", "tei"] = "cohere"
    """Whose language: that of Cohere, which most imitate, or that of Text Embeddings Inference."""
    batch: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """At most so many texts in a request; None: 32 in the language of Text Embeddings Inference, else all at once."""
    more: Mapping[str, str | int | float | bool] = field(default_factory=dict[str, str | int | float | bool])
    """Further fields of the request: what its server calls cutting what is too long."""


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """A name, followed to its end."""

    spec: ModelSpec
    path: tuple[str, ...]
    """The names on the way, the one asked for first: `("<small-fast-model>", "local")`."""
    where: str
    """`file:line:column` of the last entry that decided, "" for a name that needed none."""


@dataclass(frozen=True, kw_only=True)
class Models:
    """A whole `models.yaml` without errors; `Models()` is a workspace that has none."""

    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    models: Mapping[str, ModelSpec] = field(default_factory=dict[str, ModelSpec])
    rerankers: Mapping[str, RerankerSpec] = field(default_factory=dict[str, RerankerSpec])
    places: Mapping[str, str] = field(default_factory=dict[str, str])
    """Alias or model -> `file:line:column`."""

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that a manifest may write as its model, `provider:name` aside."""
        return tuple(sorted({EXTRACTIVE, *self.aliases, *self.models}))

    def resolve(self, name: str) -> Resolved:
        """What `name` stands for and which line says so. Raises UnknownModel."""
        path, where, at = [name], "", name
        while at in self.aliases:
            where, at = self.places.get(at, ""), self.aliases[at]
            path.append(at)
        if at in self.models:
            return Resolved(spec=self.models[at], path=tuple(path), where=self.places.get(at, ""))
        if at == EXTRACTIVE or _is_direct(at):
            return Resolved(spec=ModelSpec(use=at), path=tuple(path), where=where)
        raise UnknownModel(at, known=self.names)

    def key_of(self, name: str) -> str | None:
        """The environment variable that holds the key of a model or a reranker; None where none is sent or known."""
        if name in self.rerankers:
            return self.rerankers[name].key
        return None if self.findings(name, where="") else self.resolve(name).spec.variable

    def findings(self, name: str, *, where: str) -> list[Finding]:
        """What is wrong with `name` written as a model at `where`: for the lint of manifests and guardrails."""
        if name in self.names or _is_direct(name):
            return []
        return [_unknown(name, self.names, where=where)]


def read(doc: document.Document) -> tuple[Models | None, list[Finding]]:
    """The document of a `models.yaml`. No Models come back when there is an error finding.

    Findings beside those of `kit.shape`: `unknown_model`, `alias_cycle`, `ambiguous_model`, `unknown_provider`,
    `secret_in_file`, `invalid_url`.
    """
    if doc.data is None:
        return Models(), []
    # First, and alone when it finds something: a general message could repeat the value it complains about.
    secrets = list(_secrets(doc))
    if secrets:
        return None, secrets
    written, found = shape.parse(doc, _File)
    if written is None:
        return None, found
    names = {EXTRACTIVE, *written.aliases, *written.models}
    for name, spec in written.models.items():
        found += _model_findings(doc, name, spec)
    for name, reranker in written.rerankers.items():
        found += _reranker_findings(doc, name, reranker, names)
    for alias, target in written.aliases.items():
        found += _alias_findings(doc, alias, target, written, names)
    if errors(found):
        return None, found
    places = {name: doc.where_key(document.pointer("models", name)) for name in written.models}
    places |= {name: doc.where_key(document.pointer("aliases", name)) for name in written.aliases}
    return Models(aliases=written.aliases, models=written.models, rerankers=written.rerankers, places=places), found


@dataclass(frozen=True, kw_only=True)
class _File:
    __pydantic_config__ = shape.STRICT

    aliases: dict[str, str] = field(default_factory=dict[str, str])
    models: dict[str, ModelSpec] = field(default_factory=dict[str, ModelSpec])
    rerankers: dict[str, RerankerSpec] = field(default_factory=dict[str, RerankerSpec])


def _secrets(doc: document.Document) -> Iterator[Finding]:
    """Every value of the file that is a key instead of a name, wherever it stands."""
    for place, value in _leaves(doc.data, ""):
        last = place.rpartition("/")[2]
        if re.sub(r"[-_]", "", last).casefold() in _KEY_FIELDS:
            if value is not None and not _is_env_name(value):
                yield _secret(doc, place, f"the value of {last!r} is not the name of an environment variable")
        elif isinstance(value, str) and _SECRET.match(value):
            yield _secret(doc, place, "the value looks like a key")
        elif isinstance(value, str) and "://" in value and re.search(r"[@?]", value):
            yield _secret(doc, place, "the address carries a user, a password or a query")


def _leaves(value: object, place: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield from _leaves(inner, place + document.pointer(str(key)))  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list):
        for index, inner in enumerate(value):  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
            yield from _leaves(inner, place + document.pointer(index))  # pyright: ignore[reportUnknownArgumentType]
    else:
        yield place, value


def _is_env_name(value: object) -> bool:
    return isinstance(value, str) and bool(_ENV_NAME.match(value)) and not _ACCESS_KEY.match(value)


def _secret(doc: document.Document, place: str, message: str) -> Finding:
    return Finding(
        code="secret_in_file",
        where=doc.where(place),
        message=f"{message}; it is not repeated here",
        expected="the NAME of an environment variable, in capitals, such as ANTHROPIC_API_KEY",
        hint="put the key into the environment and its name here; a key that was committed needs replacing",
    )


def _model_findings(doc: document.Document, name: str, spec: ModelSpec) -> Iterator[Finding]:
    at = document.pointer("models", name)
    if name == EXTRACTIVE or _is_direct(name):
        yield Finding(
            code="ambiguous_model",
            where=doc.where_key(at),
            message=f"{name!r} is a name that Ukai itself gives a meaning",
            hint="choose another name for this model",
        )
    provider, colon, rest = spec.use.partition(":")
    if spec.use != EXTRACTIVE and not (colon and rest.strip()):
        yield Finding(
            code="unknown_model",
            where=doc.where(f"{at}/use"),
            message=f"{spec.use!r} names no provider",
            expected=f"{EXTRACTIVE} | provider:name",
            received=spec.use,
            hint=suggest.hint_for(spec.use, [EXTRACTIVE, *(f"{p}:NAME" for p in PROVIDERS)]),
        )
    elif spec.use != EXTRACTIVE and provider not in PROVIDERS:
        yield Finding(
            code="unknown_provider",
            where=doc.where(f"{at}/use"),
            message=f"no provider is named {provider!r}",
            expected=", ".join(PROVIDERS),
            received=provider,
            hint=suggest.hint_for(provider, PROVIDERS),
        )
    elif spec.base_url is not None:
        yield from _url_findings(doc, f"{at}/base_url", provider, spec.base_url)


def _reranker_findings(doc: document.Document, name: str, spec: RerankerSpec, models: set[str]) -> Iterator[Finding]:
    at = document.pointer("rerankers", name)
    if name in models or name == SCORE or _is_direct(name):
        yield Finding(
            code="ambiguous_model",
            where=doc.where_key(at),
            message=f"{name!r} is the name of something else already",
            hint="choose another name for this reranker",
        )
    if not spec.use.strip():
        yield Finding(
            code="unknown_model",
            where=doc.where(f"{at}/use"),
            message="the reranker names no model",
            expected="the model's name, as the server spells it",
            received=spec.use,
            hint="name the model",
        )
    for said in sorted(OURS & spec.more.keys()):
        yield Finding(
            code="not_allowed",
            where=doc.where_key(f"{at}/more{document.pointer(said)}"),
            message=f"{said!r} is what Ukai itself says in the request",
            expected="a field of the server's own, such as truncate_prompt_tokens",
            received=said,
            hint=f"leave {said!r} out",
        )
    yield from _address_findings(doc, f"{at}/base_url", spec.base_url)


def _address_findings(doc: document.Document, at: str, address: str) -> Iterator[Finding]:
    if not re.match(r"https?://[^/\s]+", address):
        yield Finding(
            code="invalid_url",
            where=doc.where(at),
            message="base_url is no address of a server",
            expected="http://host:port/path or https://...",
            received=address,
            hint="write the whole address, with its /v1 where the server has one",
        )


def _url_findings(doc: document.Document, at: str, provider: str, address: str) -> Iterator[Finding]:
    yield from _address_findings(doc, at, address)
    if provider not in OWN_SERVER:
        yield Finding(
            code="invalid_url",
            where=doc.where_key(at),
            message=f"{provider!r} has no servers of one's own",
            expected=", ".join(sorted(OWN_SERVER)),
            received=provider,
            hint="use openai-chat:NAME for a compatible server, or remove base_url",
        )


def _alias_findings(
    doc: document.Document, alias: str, target: str, written: _File, names: set[str]
) -> Iterator[Finding]:
    at = document.pointer("aliases", alias)
    if alias in written.models or alias == EXTRACTIVE or _is_direct(alias):
        yield Finding(
            code="ambiguous_model",
            where=doc.where_key(at),
            message=f"{alias!r} is an alias and a model at once",
            hint="rename one of the two",
        )
    if target not in names and not _is_direct(target):
        yield _unknown(target, tuple(sorted(names - {alias})), where=doc.where(at))
    seen = [alias]
    while (step := written.aliases.get(seen[-1])) is not None and step not in seen:
        seen.append(step)
    if step == alias:
        yield Finding(
            code="alias_cycle",
            where=doc.where(at),
            message="aliases that lead back to themselves: " + " > ".join([*seen, alias]),
            expected="an alias that ends at a model",
            received=target,
            hint=f"point one of them at a model or at {EXTRACTIVE}",
        )


def _unknown(name: str, known: tuple[str, ...], *, where: str) -> Finding:
    return Finding(
        code="unknown_model",
        where=where,
        message=f"no alias or model is named {name!r}",
        expected=", ".join(known) + " or provider:name",
        received=name,
        hint=suggest.hint_for(name, known),
    )


def _is_direct(name: str) -> bool:
    provider, colon, rest = name.partition(":")
    return bool(colon and rest.strip()) and provider in PROVIDERS
