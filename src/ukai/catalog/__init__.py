"""The monorepo of agents, loaded and linted into one immutable value.

    loaded = catalog.load(root, provided=PROVIDED)
    loaded.catalog.agents["deal-coach"], loaded.findings

Each room parses its own part; this one reads folders, looks names up, gathers findings and freezes the result.
"""

from ukai.catalog.resolve import load
from ukai.catalog.value import Catalog, Loaded, Origin, Tool

__all__ = ["Catalog", "Loaded", "Origin", "Tool", "load"]
