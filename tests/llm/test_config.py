"""`models.yaml` (P1.2, formats §12)."""

from __future__ import annotations

import subprocess
import sys

import pytest
from inline_snapshot import snapshot

from ukai.kit import document
from ukai.kit.finding import Finding
from ukai.llm import config, known

SECRET = "sk-ant-api03-Ab12Cd34Ef56Gh78"


def read(text: str) -> tuple[config.Models | None, list[Finding]]:
    doc, findings = document.read(text.encode(), name="models.yaml")
    assert doc is not None, findings
    return config.read(doc)


def models(text: str) -> config.Models:
    found, findings = read(text)
    assert found is not None, findings
    return found


def codes(text: str) -> list[str]:
    found, findings = read(text)
    assert found is None
    return [f.code for f in findings]


WHOLE = """\
aliases: {"<medium-frontier-model>": big, "<small-fast-model>": extractive, "<judge>": "<small-fast-model>"}
models:
  big: {use: "anthropic:NAME", key: ANTHROPIC_API_KEY}
  local: {use: "openai-chat:NAME", base_url: "http://127.0.0.1:8000/v1"}
"""


def test_the_documented_file_is_read_and_resolved():
    found = models(WHOLE)

    assert found.resolve("<medium-frontier-model>") == config.Resolved(
        spec=config.ModelSpec(use="anthropic:NAME", key="ANTHROPIC_API_KEY"),
        path=("<medium-frontier-model>", "big"),
        where="models.yaml:3:3",
    )
    assert found.resolve("local").spec.base_url == "http://127.0.0.1:8000/v1"


def test_an_alias_may_lead_through_another_and_the_line_that_decided_is_named():
    resolved = models(WHOLE).resolve("<judge>")

    assert resolved.spec.use == "extractive"
    assert resolved.path == ("<judge>", "<small-fast-model>", "extractive")
    assert resolved.where.startswith("models.yaml:1:")


def test_any_provider_answers_to_its_name_without_an_entry():
    assert config.Models().resolve("anthropic:NAME").spec == config.ModelSpec(use="anthropic:NAME")


def test_a_workspace_without_the_file_still_has_the_model_that_needs_no_key():
    assert config.Models().resolve("extractive").spec.use == "extractive"
    assert models("").names == ("extractive",)


def test_an_unknown_name_is_a_finding_with_a_suggestion_for_the_lint_of_manifests():
    findings = models(WHOLE).findings("<medium-frontier-modle>", where="agents/a/SKILL.md:3:8")

    assert [(f.code, f.where, f.hint) for f in findings] == snapshot(
        [("unknown_model", "agents/a/SKILL.md:3:8", "did you mean '<medium-frontier-model>'?")]
    )
    assert models(WHOLE).findings("big", where="x") == []
    assert models(WHOLE).findings("groq:anything", where="x") == []


def test_resolving_an_unknown_name_tells_an_operator_what_there_is():
    with pytest.raises(config.UnknownModel, match="no model is named 'bgi'") as caught:
        models(WHOLE).resolve("bgi")

    assert "big" in caught.value.hint


def test_an_alias_to_nothing_has_a_place_and_a_suggestion():
    _, findings = read('aliases: {"<small>": lokal}\nmodels: {local: {use: extractive}}\n')

    assert [(f.code, f.where, f.hint) for f in findings] == [
        ("unknown_model", "models.yaml:1:22", "did you mean 'local'?")
    ]


def test_aliases_that_lead_in_a_circle_are_named_in_order():
    _, findings = read("aliases: {a: b, b: c, c: a, d: a}\n")

    assert [f.message for f in findings if f.code == "alias_cycle"] == snapshot(
        [
            "aliases that lead back to themselves: a > b > c > a",
            "aliases that lead back to themselves: b > c > a > b",
            "aliases that lead back to themselves: c > a > b > c",
        ]
    )


@pytest.mark.parametrize(
    "text",
    [
        f"models: {{big: {{use: 'anthropic:N', key: {SECRET}}}}}",
        "models: {big: {use: 'anthropic:N', key: abcdef0123456789abcdef}}",
        "models: {big: {use: 'anthropic:N', key: AKIA1234567890ABCDEF}}",
        "models: {big: {use: 'anthropic:N', key: 1234567890}}",
        f"models: {{big: {{use: 'anthropic:N', key: [{SECRET}]}}}}",
        f"models: {{big: {{use: 'anthropic:N', api_key: {SECRET}}}}}",
        f"models: {{big: {{use: '{SECRET}'}}}}",
        f"models: {{big: {{use: 'openai-chat:N', base_url: 'https://me:{SECRET}@host/v1'}}}}",
        f"models: {{big: {{use: 'openai-chat:N', base_url: 'https://host/v1?key={SECRET}'}}}}",
        f"aliases: {{small: {SECRET}}}",
    ],
)
def test_a_secret_in_the_file_is_an_error_that_never_repeats_it(text: str):
    found, findings = read(text)

    assert found is None
    shown = " ".join(str(f) for f in findings)
    for secret in (SECRET, "abcdef0123456789abcdef", "AKIA1234567890ABCDEF", "1234567890"):
        assert secret not in shown
    if "[" not in text:
        assert {f.code for f in findings} == {"secret_in_file"}


def test_every_name_of_a_providers_usual_variable_passes_as_a_key():
    for variable in filter(None, known.PROVIDERS.values()):
        models(f"models: {{m: {{use: 'anthropic:N', key: {variable}}}}}")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("models: {m: {use: claude}}", "unknown_model"),
        ("models: {m: {use: 'antropic:N'}}", "unknown_provider"),
        ("models: {m: {use: 'openai-chat:N', base_url: 'localhost:8000'}}", "invalid_url"),
        ("models: {m: {use: 'groq:N', base_url: 'http://localhost'}}", "invalid_url"),
        ("models: {m: {use: extractive}}\naliases: {m: extractive}", "ambiguous_model"),
        ("models: {extractive: {use: 'groq:N'}}", "ambiguous_model"),
        ("models: {m: {use: extractive, tempo: 1}}", "unknown_key"),
        ("alias: {}", "unknown_key"),
        ("models: [a]", "wrong_type"),
    ],
)
def test_each_mistake_has_its_code(text: str, code: str):
    assert codes(text) == [code]


def test_reading_models_imports_no_model_library():
    script = (
        "import sys, ukai.llm, ukai.llm.config\n"
        "print([m for m in ('pydantic_ai', 'onnxruntime', 'tokenizers', 'numpy', 'genai_prices', 'quicktok', 'psycopg')"
        " if m in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


RERANKER = """\
models: {big: {use: "anthropic:NAME"}}
rerankers: {quick: {use: NAME, base_url: "https://api.example.com/v1", key: RERANK_API_KEY}}
"""


def test_a_reranker_has_an_address_and_the_name_of_a_key():
    found = models(RERANKER)

    assert found.rerankers["quick"] == config.RerankerSpec(
        use="NAME", base_url="https://api.example.com/v1", key="RERANK_API_KEY"
    )
    assert "quick" not in found.names
    keys = [found.key_of(name) for name in ("quick", "big", "extractive", "score", "openai-chat:x")]
    assert keys == ["RERANK_API_KEY", "ANTHROPIC_API_KEY", None, None, "OPENAI_API_KEY"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("quick", "big"), "ambiguous_model"),
        (("quick", "score"), "ambiguous_model"),
        (("https://", ""), "invalid_url"),
        (("https://", "https://ann:pw@"), "secret_in_file"),
        (("RERANK_API_KEY", SECRET), "secret_in_file"),
        (("use: NAME,", 'use: " ",'), "unknown_model"),
        (("use: NAME,", ""), "missing_key"),
        (("use: NAME,", "use: NAME, speaks: french,"), "not_allowed"),
        (("use: NAME,", "use: NAME, batch: 0,"), "invalid_value"),
        (("use: NAME,", "use: NAME, more: {documents: x},"), "not_allowed"),
        (("use: NAME,", f"use: NAME, more: {{token: {SECRET}}},"), "secret_in_file"),
    ],
)
def test_what_is_wrong_with_a_reranker_is_told(change: tuple[str, str], code: str):
    assert codes(RERANKER.replace(*change)) == [code]
