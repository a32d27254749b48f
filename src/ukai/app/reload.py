"""The workspace as the next turn finds it; a turn that runs keeps the one it began with (P2.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ukai import record
from ukai.app import build, loading, workspace
from ukai.app.engine import Engine
from ukai.kit.errors import PermanentError
from ukai.kit.finding import errors

IGNORED = {workspace.LOCAL, ".git", "__pycache__", "deploy"}
Tell = Callable[[str], None]


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
        tell(f"{', '.join(names[:3])} changed: {current.reload()}")
