"""A provider by name, or none (X2)."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from pydantic_ai.providers import infer_provider_class

from ukai.llm import config, known, models
from ukai.llm.extractive import Extractive

ENVIRON = {"ANTHROPIC_API_KEY": "a-made-up-key", "OPENAI_API_KEY": "another-made-up-key"}


def build(use: str, **spec: Any) -> Any:
    return models.build(config.ModelSpec(use=use, **spec), environ=ENVIRON)


def test_extractive_needs_no_key():
    assert isinstance(models.build(config.ModelSpec(use="extractive"), environ={}), Extractive)


@pytest.mark.parametrize(
    ("use", "kind"),
    [
        ("anthropic:some-name", "AnthropicModel"),
        ("openai-chat:some-name", "OpenAIChatModel"),
        ("openai:some-name", "OpenAIResponsesModel"),
    ],
)
def test_a_provider_answers_to_its_name(use: str, kind: str):
    model = build(use)

    assert type(model).__name__ == kind
    assert model.model_name == "some-name"


def test_a_missing_key_names_the_variable_and_the_model_that_needs_none():
    with pytest.raises(models.MissingKey) as caught:
        models.build(config.ModelSpec(use="anthropic:x", key="OUR_KEY"), environ=ENVIRON)

    assert caught.value.variable == "OUR_KEY"
    assert "OUR_KEY" in str(caught.value)
    assert "'extractive', which needs no key" in str(caught.value)


def test_an_empty_key_is_a_missing_key():
    with pytest.raises(models.MissingKey, match="ANTHROPIC_API_KEY"):
        models.build(config.ModelSpec(use="anthropic:x"), environ={"ANTHROPIC_API_KEY": " "})


def test_the_key_is_taken_from_the_environ_that_was_handed_in_and_from_nowhere_else(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from-the-process")

    with pytest.raises(models.MissingKey):
        models.build(config.ModelSpec(use="anthropic:x"), environ={})


@pytest.mark.parametrize(
    ("use", "module", "install"),
    [("anthropic:x", "anthropic", ".[providers]"), ("groq:x", "groq", "pydantic-ai-slim[groq]")],
)
def test_a_missing_package_says_what_to_install(use: str, module: str, install: str):
    script = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from ukai.llm import config, models\n"
        "try: models.build(config.ModelSpec(use=%r, key='K'), environ={'K': 'k'})\n"
        "except models.MissingProvider as error: print(error)\n" % use
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert f"pip install '{install}'" in done.stdout


def test_an_unknown_provider_is_named_with_a_suggestion():
    with pytest.raises(models.UnknownProvider, match="Did you mean 'anthropic'"):
        build("antropic:x")


@pytest.mark.parametrize("use", ["anthropic:x", "openai-chat:x"])
def test_no_repr_shows_a_key(use: str):
    model = build(use)

    shown = repr(model) + str(model) + repr(model.provider) + repr(vars(model))
    assert not any(key in shown for key in ENVIRON.values())


def test_defaults_of_every_request_are_set():
    model = models.build(config.ModelSpec(use="openai-chat:x"), environ=ENVIRON, max_output_tokens=500, timeout_s=20.0)

    assert model.settings == {"max_tokens": 500, "timeout": 20.0}


def test_every_provider_of_the_table_is_one_of_the_library():
    for name in known.PROVIDERS:
        try:
            infer_provider_class(name)
        except ImportError:
            continue  # its packages are not installed here, but the library knows it


def test_building_one_provider_imports_no_other():
    script = (
        "import sys\n"
        "from ukai.llm import config, models\n"
        "models.build(config.ModelSpec(use='extractive'), environ={})\n"
        "print([m for m in ('anthropic', 'openai', 'onnxruntime') if m in sys.modules])\n"
        "models.build(config.ModelSpec(use='anthropic:x'), environ={'ANTHROPIC_API_KEY': 'k'})\n"
        "print([m for m in ('anthropic', 'openai') if m in sys.modules])\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["[]", "['anthropic']"]
