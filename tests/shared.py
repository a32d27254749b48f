"""Where the public corpora lie, when they are there at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("UKAI_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))
"""Read by path and never copied; tests skip without it."""
SAMPLES = DATA.parent / "samples"


def needs(*parts: str) -> pytest.MarkDecorator:
    """Skip the test when this part of the corpora is absent."""
    path = DATA.joinpath(*parts)
    return pytest.mark.skipif(not path.exists(), reason=f"needs {'/'.join(parts) or 'the corpora'}")
