"""The sample company on standard output, one JSON object a line.

python examples/harbor-apis/generate records|deltas [--seed 7] [--accounts 40] [--density 1.0] [--canary zq7]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

# Run as a folder: the package's parent has to be found before its relative imports can be.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import generate


def main() -> None:
    parser = argparse.ArgumentParser(prog="generate", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["records", "deltas"])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--accounts", type=int, default=40)
    parser.add_argument("--density", type=float, default=None, help="texts per account against the default")
    parser.add_argument("--canary", default=None, help="lower-case letters and digits, put into all that is restricted")
    parser.add_argument("--size", type=int, default=200, help="records a delta")
    said = parser.parse_args()
    made = generate.records(said.seed, said.accounts, said.canary, density=said.density)
    for line in made if said.what == "records" else generate.deltas(made, said.size):
        sys.stdout.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
