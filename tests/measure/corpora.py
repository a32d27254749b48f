"""The public sets as record lines (design §5), read by path. A label is what people said of the whole answer."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.shared import DATA

SUMMEDITS = DATA / "faithfulness" / "summedits"
RAGTRUTH = DATA / "noncommercial" / "ragtruth" / "qa.jsonl"
TATQA = DATA / "faithfulness" / "tatqa" / "dev_half.jsonl"
LOCOMO = DATA / "noncommercial" / "locomo"
_UNITS = {"percent": "%", "thousand": " thousand", "million": " million", "billion": " billion", "": ""}


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def is_even(record: dict[str, Any]) -> bool:
    """The half on which rules were tuned."""
    return int(hashlib.sha256(record["id"].encode()).hexdigest(), 16) % 2 == 0


def line(
    id: str, question: str, evidence: list[tuple[str, str]], answer: str, label: bool | None, **detail: Any
) -> dict[str, Any]:
    record: dict[str, Any] = {"id": id, "question": question, "answer": answer, "detail": detail}
    record["evidence"] = [{"key": key, "text": text} for key, text in evidence]
    return record if label is None else record | {"label": label}


def summedits(name: str) -> Iterator[dict[str, Any]]:
    """`sales_call` or `ectsum`: a summary edited into inconsistency is labelled true."""
    documents = {d["doc"]: d["text"] for d in rows(SUMMEDITS / f"{name}.docs.jsonl")}
    seen: Counter[str] = Counter()
    for x in rows(SUMMEDITS / f"{name}.items.jsonl"):
        seen[x["id"]] += 1
        again = f"~{seen[x['id']]}" if seen[x["id"]] > 1 else ""
        evidence = [(x["doc"], documents[x["doc"]])]
        given = {"original": x["original"]}
        yield line(
            f"{name}/{x['id']}{again}", "Summarise the document.", evidence, x["summary"], not x["consistent"], **given
        )


def ragtruth() -> Iterator[dict[str, Any]]:
    """Answers with human spans; any span makes the label true."""
    for x in rows(RAGTRUTH):
        pieces = [p.strip() for p in re.split(r"(?m)^passage \d+:", x["source"]["passages"]) if p.strip()]
        evidence = [(f"passage {k}", p) for k, p in enumerate(pieces, 1)]
        for k, r in enumerate(x["responses"]):
            yield line(f"qa/{x['source_id']}/{k}", x["source"]["question"], evidence, r["response"], bool(r["labels"]))


def tatqa() -> Iterator[dict[str, Any]]:
    """Gold answers; arithmetic ones state their derivation."""
    for page in rows(TATQA):
        table = "\n".join(" | ".join(map(str, row)) for row in page["table"]["table"])
        evidence = [("table", table), *((f"paragraph {p['order']}", p["text"]) for p in page["paragraphs"])]
        for q in page["questions"]:
            unit = _UNITS[q["scale"]]
            parts = [str(v) for v in (q["answer"] if isinstance(q["answer"], list) else [q["answer"]])]
            text = ", ".join(v + unit if unit and v[-1:].isdigit() else v for v in parts)
            derivation = q["derivation"].strip() if q["answer_type"] == "arithmetic" else ""
            answer = f"{text} = {derivation}" if derivation else text
            yield line(q["uid"], q["question"], evidence, answer, False, kind=q["answer_type"], stated=text)


def locomo() -> Iterator[dict[str, Any]]:
    """True answers, and two wrong ones a question: a specific and a vague one."""
    for path in sorted(LOCOMO.glob("*.qa.jsonl")):
        name = path.name.removesuffix(".qa.jsonl")
        qa = list(rows(path))
        by_question: dict[Any, int] = {}
        turns = {
            t["dia_id"]: f"[{t['at']}] {t['speaker']}: {t['text']}"
            + (f" (shares a picture: {t['image_caption']})" if t.get("image_caption") else "")
            for t in rows(path.with_name(f"{name}.turns.jsonl"))
        }
        for n, q in enumerate(qa):
            if q["category"] == 5:
                continue
            for v in (q.get("official"), q):
                if v:
                    by_question.setdefault((v["question"], str(v.get("answer"))), n)
                    by_question.setdefault(v["question"], n)
            evidence = [(e, turns[e]) for e in q["evidence"] if e in turns]
            if evidence:
                doubted = bool(q.get("audit")) and q["audit"]["type"] != "WRONG_CITATION"
                label = None if doubted else False
                yield line(f"{name}/q{n}/true", q["question"], evidence, str(q["answer"]), label, kind="true")
        for w in rows(path.with_name(f"{name}.wrong_answers.jsonl")):
            n = by_question.get((w["question"], str(w["golden"])), by_question.get(w["question"]))
            evidence = [(e, turns[e]) for e in qa[n]["evidence"] if e in turns] if n is not None else []
            for kind in ("specific", "vague"):
                if kind in w and evidence:
                    detail = {"kind": kind, "accepted": w[kind][1]}
                    yield line(f"{name}/{w['id']}/{kind}", w["question"], evidence, w[kind][0], True, **detail)
