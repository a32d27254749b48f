from __future__ import annotations

import pytest

from tests.gate import world
from tests.gate.races.scenes import SCENES, Scene
from ukai import store


@pytest.mark.parametrize("scene", SCENES, ids=lambda s: s.__name__)
async def test_it_ends_well_whoever_comes_between(scene: Scene, database: store.Database, database_url: str):
    await world.upload(database)

    assert await scene(database, database_url) == []
