"""How often the verdicts on simulated agents are wrong, and whether the stated power holds (P8.7, P9.3).

Flaky cases pass with a chance drawn from Beta(3, 1.2); a true effect lifts each by the same share of what it lacks.
Options: trials (1000), seed (7), cases (200), repeats (3), subjects (0: every case alone), draws (2000).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ukai.app.bench import Report
from ukai.measure import decision, power, stats

EFFECTS = (0.0, 0.03, 0.05, 0.10)
Values = dict[str, list[float]]


@dataclass(frozen=True, kw_only=True)
class World:
    """What is simulated."""

    cases: int
    repeats: int
    subjects: int
    draws: int

    @property
    def clusters(self) -> dict[str, str]:
        """Case -> subject."""
        return {f"c{i}": f"s{i % self.subjects}" for i in range(self.cases)} if self.subjects else {}


def pair(rng: random.Random, world: World, effect: float) -> tuple[Values, Values]:
    """One agent before and after a change with this true effect."""
    fails = [1 - rng.betavariate(3, 1.2) for _ in range(world.cases)]
    lifted = min(1.0, effect / power.PRIOR_FAILS)
    return _drawn(rng, fails, world), _drawn(rng, [f * (1 - lifted) for f in fails], world)


def _drawn(rng: random.Random, fails: list[float], world: World) -> Values:
    return {f"c{i}": [float(rng.random() >= f) for _ in range(world.repeats)] for i, f in enumerate(fails)}


def rate(trials: int, seed: int, world: World, effect: float, says: Callable[[stats.Difference], bool]) -> float:
    """How often a verdict is given."""
    hits = 0
    for trial in range(trials):
        before, after = pair(random.Random(f"{seed}/{effect}/{trial}"), world, effect)
        hits += says(stats.paired(before, after, cluster=world.clusters, draws=world.draws))
    return hits / trials


def kept(trials: int, seed: int, world: World, effect: float) -> float:
    """How often two looks keep a change, half of the cases each."""
    half = World(cases=world.cases // 2, repeats=world.repeats, subjects=world.subjects // 2, draws=world.draws)

    def looks(gap: stats.Difference) -> bool:
        return gap.mean > (gap.noise or 0.0) and gap.p / 2 <= decision.ONE_SIDED

    hits = 0
    for trial in range(trials):
        hits += all(
            looks(stats.paired(*pair(random.Random(f"{seed}/{look}/{effect}/{trial}"), half, effect), draws=half.draws))
            for look in ("screen", "confirm")
        )
    return hits / trials


def is_better(gap: stats.Difference) -> bool:
    """The verdict where every difference matters."""
    return gap.word(larger_than=0.0) == "better"


def run(options: Mapping[str, str]) -> Report:
    """False and true verdicts by effect, beside the stated power."""
    given = {"trials": 1_000, "seed": 7, "cases": 200, "repeats": 3, "subjects": 0, "draws": 2_000}
    chosen = {name: int(options.get(name, str(value))) for name, value in given.items()}
    trials, seed = chosen.pop("trials"), chosen.pop("seed")
    world = World(**chosen)
    figures: dict[str, float] = {}
    for effect in EFFECTS:
        name = f"{round(100 * effect):02}"
        figures[f"better_{name}"] = rate(trials, seed, world, effect, is_better)
        figures[f"kept_{name}"] = kept(trials, seed, world, effect)
        if effect:
            figures[f"stated_power_{name}"] = power.power(
                effect,
                cases=world.cases,
                repeats=world.repeats,
                clusters=world.subjects or None,
                spread=power.Spread(),
            )
    wrong = [abs(figures[f"better_{n}"] - figures[f"stated_power_{n}"]) for n in ("03", "05", "10")]
    figures["largest_power_error"] = max(wrong)
    return Report(figures=figures, notes=("better_00 and kept_00 are false verdicts: no effect was there",))
