"""Domains that come with the product: known to every workspace, uploaded when they are first needed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

from ukai.graph import domain_file
from ukai.graph.schema import Domain

FILES = ("review_queue.yaml",)


@cache
def domains() -> Mapping[str, Domain]:
    """Name -> domain."""
    found: dict[str, Domain] = {}
    for name in FILES:
        domain, findings = domain_file.read(
            resources.files("ukai.graph").joinpath(name).read_bytes(), name=name, others=()
        )
        if domain is None:
            raise ValueError(f"{name} is shipped with errors: {findings[0]}")
        found[domain.domain] = domain
    return found
