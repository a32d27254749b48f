"""Installs what a lock file names and says how far it is: pip alone is silent for minutes, or prints hundreds of lines.

python requirements/install.py requirements/dev.txt
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

EVERY = 20
PIP = (sys.executable, "-u", "-m", "pip", "install", "--disable-pip-version-check", "--no-compile", "--require-hashes")


def main(lock: str) -> int:
    """pip's own exit code; what it has to say about errors stands on stderr as ever."""
    named = sum("==" in line for line in Path(lock).read_text(encoding="utf-8").splitlines())
    print(f"fetching up to {named} packages, 0.6 GB when installed: one to three minutes", flush=True)
    command = [*PIP, "--progress-bar", "off", "-r", lock]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as pip:  # noqa: S603  (the Makefile names it)
        for said in _told(pip.stdout or ()):
            print(said, flush=True)
    return pip.returncode


def _told(lines: Iterator[str] | tuple[()]) -> Iterator[str]:
    count = 0
    for line in lines:
        if line.startswith("Collecting "):
            count += 1
            if count % EVERY == 0:
                yield f"  {count} ..."
        elif line.startswith("Installing collected packages"):
            yield f"installing {count} packages ..."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
