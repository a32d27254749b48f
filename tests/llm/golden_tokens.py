"""Writes golden_tokens.json. Needs `pip install bpe-openai==0.1.4`, which the test itself does not."""

from __future__ import annotations

import json
from pathlib import Path

PROSE = "The rollout waits for procurement. Their security questionnaire came back with four open points; "
TEXTS = {
    "empty": ("", True),
    "prose": (PROSE * 20, True),
    "json": (json.dumps([{"handle": f"Deal#d-{i}", "amount": 1000 + i, "stage": "open"} for i in range(40)]), True),
    "code": ("def total(rows):\n    return sum(r['amount'] for r in rows if r['stage'] != 'lost')\n" * 15, True),
    "german": ("Die Geschäftsführung prüft den Rahmenvertrag über größere Stückzahlen. " * 12, True),
    "mixed scripts": ("東京の倉庫 склад в Москве مستودع في دبي warehouse in Århus " * 10, True),
    "table": ("| account | seats | renewal |\n|---|---:|---|\n" + "| Harbor | 420 | 2027-03-31 |\n" * 30, True),
    "emoji": ("🙂🚚📦 " * 30, False),
    "special lookalikes": ("<|endoftext|><|im_start|>user <|fim_prefix|>", False),
    "white space": (" \t\n\r\n   \u00a0\u2003x" * 30, False),
    "digits": ("31415926535897932384626433832795028841971" * 8, False),
    "control characters": ("a\0b\x07c\x1bd" * 20, False),
    "one long word": ("supercalifragilistic" * 60, False),
    "hex": ("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c" * 6, False),
}


def main() -> None:
    import bpe_openai

    encoding = bpe_openai.get_encoding("o200k_base")
    rows = [
        {"name": name, "tokens": len(encoding.encode_ordinary(text)), "human": human, "text": text}
        for name, (text, human) in TEXTS.items()
    ]
    target = Path(__file__).with_name("golden_tokens.json")
    target.write_text(json.dumps(rows, ensure_ascii=True, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
