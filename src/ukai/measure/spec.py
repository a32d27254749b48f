"""What every check has: a frozen spec that can be written to a log and rebuilt from it, and one pure function.

A check of one run is a `RunCheck`; one that only makes sense over several is a `GroupCheck`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

from ukai.kit import suggest
from ukai.kit.errors import PermanentError
from ukai.measure.case import Case
from ukai.measure.reading import Reading
from ukai.measure.score import Score

Pair = tuple[Reading, Case | None]


@runtime_checkable
class RunCheck(Protocol):
    """Decides about one run."""

    name: ClassVar[str]
    version: ClassVar[int]

    def weigh(self, reading: Reading, case: Case | None = None) -> Score:
        """Pure: the same run and case give the same score."""
        ...


@runtime_checkable
class GroupCheck(Protocol):
    """Decides about several runs together."""

    name: ClassVar[str]
    version: ClassVar[int]

    def weigh_all(self, pairs: Sequence[Pair]) -> list[Score]:
        """Pure. One score a group; how runs are grouped is the check's own matter."""
        ...


Check = RunCheck | GroupCheck


class SpecMismatch(PermanentError):
    """A log asks for a check, or a version or parameter of it, that this code does not have."""

    hint = "Score the records again with this version, or read the log with the version that wrote it"


def written(check: Any) -> dict[str, Any]:
    """The spec as it stands in a score: name, version and every parameter."""
    return {"name": check.name, "version": check.version, **asdict(check)}


def rebuilt(spec: Mapping[str, Any], known: Mapping[str, type]) -> Check:
    """The check that `written` wrote. Raises SpecMismatch."""
    name = str(spec.get("name"))
    kind: Any = known.get(name)
    if kind is None:
        raise SpecMismatch(f"no check is named {name!r}: {suggest.hint_for(name, known)}")
    if spec.get("version") != kind.version:
        raise SpecMismatch(f"{name} is at version {kind.version} here and {spec.get('version')} there")
    parameters = {key: value for key, value in spec.items() if key not in ("name", "version")}
    try:
        return kind(**{k: _frozen(v) for k, v in parameters.items()})
    except TypeError as error:
        raise SpecMismatch(f"{name} has other parameters here: {error}") from error


def _frozen(value: Any) -> Any:
    """JSON has lists where specs have tuples."""
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else value
