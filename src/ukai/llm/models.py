"""A chat model from a specification: ours, or any provider's by name. Providers are imported when one is built.

`runtime` runs what `build` returns. No key appears in an error, a repr or a log line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ukai.kit import suggest
from ukai.kit.errors import PermanentError
from ukai.llm import config, known
from ukai.llm.protocols import Embedder, TokenCounter

if TYPE_CHECKING:
    from pydantic_ai.models import Model

NO_KEY = "not-needed"
"""Sent to a server of one's own that was given no key: without it the client would send OPENAI_API_KEY there."""


class MissingKey(PermanentError):
    """The environment variable that should hold a provider's key is not set."""

    def __init__(self, variable: str, *, use: str) -> None:
        super().__init__(
            f"the model {use!r} needs a key in the environment variable {variable}, which is not set",
            hint=f"Set {variable}, or use the model {known.EXTRACTIVE!r}, which needs no key",
        )
        self.variable, self.use = variable, use


class MissingProvider(PermanentError):
    """The packages of a provider are not installed."""

    def __init__(self, provider: str, *, install: str) -> None:
        where = " in the clone of Ukai" if install.startswith(".") else ""
        super().__init__(
            f"the packages for the provider {provider!r} are not installed",
            hint=f"pip install {install!r}{where}, or use the model {known.EXTRACTIVE!r}, which needs none",
        )
        self.provider, self.install = provider, install


class UnknownProvider(PermanentError):
    """A provider that Ukai does not know by name."""

    def __init__(self, provider: str) -> None:
        super().__init__(
            f"no provider is named {provider!r}", hint=suggest.hint_for(provider, known.PROVIDERS).capitalize()
        )
        self.provider = provider


def build(
    spec: config.ModelSpec,
    *,
    environ: Mapping[str, str],
    embedder: Callable[[], Embedder | None] = lambda: None,
    counter: TokenCounter | None = None,
    max_output_tokens: int | None = None,
    timeout_s: float | None = None,
    http_client: Any = None,
) -> Model:
    """The model that `spec` names. Nothing is sent anywhere yet.

    `embedder` and `counter` serve `extractive` alone; `embedder` is called when it first ranks. `max_output_tokens`
    and `timeout_s` are defaults of every request. `http_client` is an httpx2.AsyncClient, for tests and proxies.

    Raises MissingKey, MissingProvider, UnknownProvider.
    """
    if spec.use == known.EXTRACTIVE:
        from ukai.llm.extractive import Extractive

        return Extractive(embedder=embedder, counter=counter)
    if spec.provider not in known.PROVIDERS:
        raise UnknownProvider(spec.provider)
    arguments = _credentials(spec, environ)
    if http_client is not None:
        arguments["http_client"] = http_client
    settings: dict[str, Any] = {}
    if max_output_tokens is not None:
        settings["max_tokens"] = max_output_tokens
    if timeout_s is not None:
        settings["timeout"] = timeout_s
    return _of_provider(spec, arguments, settings)


def _credentials(spec: config.ModelSpec, environ: Mapping[str, str]) -> dict[str, Any]:
    """`api_key` and `base_url` as the provider's class takes them."""
    found: dict[str, Any] = {} if spec.base_url is None else {"base_url": spec.base_url}
    if (variable := spec.variable) is not None:
        key = environ.get(variable, "").strip()
        if not key:
            raise MissingKey(variable, use=spec.use)
        found["api_key"] = key
    elif spec.base_url is not None:
        found["api_key"] = NO_KEY
    return found


def _of_provider(spec: config.ModelSpec, arguments: dict[str, Any], settings: dict[str, Any]) -> Model:
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers import infer_provider_class

    def provider(name: str) -> Any:
        kind: Any = infer_provider_class(name)
        return kind(**arguments)

    try:
        model = infer_model(spec.use, provider)
    except ImportError as error:
        inside = spec.provider in known.IN_PROVIDERS_EXTRA
        install = ".[providers]" if inside else f"pydantic-ai-slim[{spec.provider}]"
        raise MissingProvider(spec.provider, install=install) from error
    if settings:
        model._settings = {**(model.settings or {}), **settings}  # type: ignore[reportPrivateUsage]  # infer_model takes none
    return model
