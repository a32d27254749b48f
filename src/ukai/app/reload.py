"""The workspace as the next turn finds it; a turn that runs keeps the one it began with (P2.1).

`ukai dev` reads files again; `ukai serve` does not, and says when it serves others than there are.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ukai import record
from ukai.app import build, loading, watching, workspace
from ukai.app.engine import Engine
from ukai.catalog import kinds, walk
from ukai.kit.errors import PermanentError
from ukai.kit.finding import errors

IGNORED = {workspace.LOCAL, ".git", "__pycache__", "deploy"}
Tell = Callable[[str], None]
Versions = Mapping[str, tuple[int, int]]
"""Files, each with when it was written and how long it is."""
NAMED = 3
_log = logging.getLogger(__name__)


class NoWatcher(PermanentError):
    """What notices saved files is not installed."""

    hint = "install the extra `dev`, in the clone: pip install '.[dev]'"


@dataclass(kw_only=True)
class Current:
    """Holds the engine of the next turn."""

    engine: Engine
    only: str | None = None

    def __call__(self) -> Engine:
        return self.engine

    def reload(self) -> str:
        """Read the files again; what came of it. Files with errors keep the agents that need them from being served."""
        before = self.engine
        loaded = loading.load(before.root, only=self.only)
        stamp = build.stamp(before.root)
        made = record.Build(commit=stamp.commit, tree=stamp.tree) if stamp else record.Build()
        self.engine = replace(before, loaded=loaded, stamp=made)
        found = errors(loaded.findings)
        return f"{len(found)} errors, the first: {found[0]}" if found else f"{len(loaded.catalog.agents)} agents"


async def watch(current: Current, *, tell: Tell, stop: asyncio.Event) -> None:
    """Reload after every change below the workspace, until `stop`. Raises NoWatcher."""
    try:
        import watchfiles
    except ImportError:
        raise NoWatcher("watchfiles is not installed") from None
    root = current.engine.root

    def counts(_: watchfiles.Change, path: str) -> bool:
        return not IGNORED & set(Path(path).relative_to(root).parts)

    watcher: Any = watchfiles
    async for changes in watcher.awatch(root, watch_filter=counts, stop_event=stop, debounce=300):
        names = sorted({str(Path(path).relative_to(root)) for _, path in changes})
        tell(f"{', '.join(names[:NAMED])} changed: {current.reload()}")


@dataclass(kw_only=True)
class Stale:
    """Whether the files are still those that a server read."""

    root: Path
    read: Versions
    told: Versions = field(default_factory=dict[str, tuple[int, int]])

    async def look(self) -> None:
        """Say which changed; the same is said once."""
        found = await asyncio.to_thread(versions, self.root)
        changed = sorted(name for name in {*self.read, *found} if self.read.get(name) != found.get(name))
        if changed and found != self.told:
            more = f" and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
            names = ", ".join(changed[:NAMED]) + more
            _log.warning("changed, while what was read before is in force: %s; restart the server", names)
        self.told = found


def versions(root: Path) -> Versions:
    """The files that a workspace is read from."""
    tree = walk.walk(root, enter=lambda path: path.partition("/")[0] in kinds.TOP)
    found: dict[str, tuple[int, int]] = {}
    for file in tree.files:
        if kinds.in_workspace(file.path) is not None:
            with suppress(OSError):  # gone since, which the next look finds too
                status = file.real.stat()
                found[file.path] = (status.st_mtime_ns, status.st_size)
    return found


@asynccontextmanager
async def told(root: Path, *, wait: Callable[[float], Awaitable[None]] = asyncio.sleep) -> AsyncGenerator[None]:
    """While inside, the log says when files are others than those that were read."""
    stale = Stale(root=root, read=versions(root))
    async with watching.kept("files", stale.look, wait=wait):
        yield
