"""The providers that a model can be named by, as data: a new one is one line. A test holds them against the library."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

EXTRACTIVE = "extractive"
"""Our own model that needs no key."""
SCORE = "score"
"""In the place of a model that ranks: none does, the scores order."""

PROVIDERS: Mapping[str, str | None] = MappingProxyType(
    {
        "anthropic": "ANTHROPIC_API_KEY",
        "openai": "OPENAI_API_KEY",
        "openai-chat": "OPENAI_API_KEY",
        "openai-responses": "OPENAI_API_KEY",
        "google": "GOOGLE_API_KEY",
        "mistral": "MISTRAL_API_KEY",
        "groq": "GROQ_API_KEY",
        "cohere": "CO_API_KEY",
        "deepseek": "DEEPSEEK_API_KEY",
        "openrouter": "OPENROUTER_API_KEY",
        "together": "TOGETHER_API_KEY",
        "fireworks": "FIREWORKS_API_KEY",
        "cerebras": "CEREBRAS_API_KEY",
        "xai": "XAI_API_KEY",
        "huggingface": "HF_TOKEN",
        "moonshotai": "MOONSHOTAI_API_KEY",
        "bedrock": None,
        "google-cloud": None,
        "ollama": None,
    }
)
"""Provider -> the environment variable its key is usually in; None: it finds its own credentials, or needs none."""

OWN_SERVER = frozenset({"openai-chat", "openai", "openai-responses", "anthropic", "ollama"})
"""Providers whose language other servers speak: `base_url` is theirs to use."""
IN_PROVIDERS_EXTRA = frozenset(
    {
        "anthropic",
        "openai",
        "openai-chat",
        "openai-responses",
        "deepseek",
        "openrouter",
        "together",
        "fireworks",
        "cerebras",
        "moonshotai",
        "ollama",
    }
)
"""Providers that the extra `providers` brings; the others have an extra of the library's own."""
