"""`ukai eval run`: a bank asked, run by run kept, and what it will cost before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from ukai import record
from ukai.app import budgets, engine
from ukai.app.evals import answering, folder, judges, parts
from ukai.app.evals import bank as banks
from ukai.kit.errors import PermanentError, UkaiError
from ukai.kit.finding import Finding, errors
from ukai.llm.cache import Cache
from ukai.llm.cassette import Cassette
from ukai.measure import dimension, evaluation, judging, power, requirement, stats
from ukai.measure.bank import SPLITS, Bank, Split
from ukai.measure.evaluation import Evaluation, Header

SIDE_BY_SIDE = 4
TOLD = 5
"""Of what could not be asked, how much is told: one miss is mostly like the next, and `missing` counts them."""
KNOWN_RUNS = 50
"""Of an agent, how many of its newest runs a forecast looks at."""

Progress = Callable[[str], None]


class EvaluationBegun(PermanentError):
    """The file of this name belongs to another evaluation."""

    hint = "Choose another --name, or take the change back and go on with this one"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What to ask, and how."""

    name: str | None = None
    """None: the instant it begins."""
    agent: str | None = None
    only: str = "*"
    """Cases whose id matches."""
    splits: tuple[Split, ...] = SPLITS
    repeats: int | None = None
    cassette: Path | None = None
    is_recording: bool = False
    is_live: bool = False
    side_by_side: int = SIDE_BY_SIDE
    answers_of: str = ""
    """An evaluation whose answers the rules of now read again; no agent is asked."""


class NothingAsked(PermanentError):
    """The bank holds nothing of what was wanted."""

    hint = "`ukai lint` reads agents/*/cases and evals; --cases takes a pattern such as 'word-*'"


class UnknownSplit(PermanentError):
    """A bank has three splits."""

    hint = f"Name some of {', '.join(SPLITS)}"


def wanted(*, split: str = ",".join(SPLITS), **rest: Any) -> Wanted:
    """With the splits of a comma-separated list. Raises UnknownSplit."""
    names = [name.strip() for name in split.split(",")]
    chosen: tuple[Split, ...] = tuple(known for known in SPLITS if known in names)
    if unknown := [name for name in names if name not in SPLITS]:
        raise UnknownSplit(f"{unknown[0]!r} is no split of a bank")
    return Wanted(splits=chosen, **rest)


@dataclass(frozen=True, kw_only=True)
class Planned:
    """An evaluation that could begin."""

    opened: engine.Engine
    header: Header
    path: Path
    findings: tuple[Finding, ...]


async def run(
    path: Path, wanted: Wanted, *, principal: str | None, progress: Progress = lambda _: None
) -> dict[str, Any]:
    """Ask the bank; what was asked before under this name is not asked again. Raises what an engine raises."""
    async with engine.opened(path) as opened:
        planned = await plan(opened, wanted, principal=principal, progress=progress)
        if errors(planned.findings):
            return {"findings": [f.as_json() for f in planned.findings]}
        done, findings = await asked(planned, wanted, progress=progress)
    told = [f.as_json() for f in (*planned.findings, *findings)]
    return summary(done) | ({"findings": told} if told else {})


async def plan(
    opened: engine.Engine,
    wanted: Wanted,
    *,
    principal: str | None,
    agents: Mapping[str, str] | None = None,
    progress: Progress = lambda _: None,
) -> Planned:
    """The bank under what the workspace is now, each case with its agent: that of `agents`, or one that is found."""
    if wanted.answers_of:
        return await _judging(opened, wanted)
    if wanted.agent is not None:
        opened.agent(wanted.agent)  # raises before anything else is looked at
    await opened.catch_up(progress)
    bank, findings = banks.of(
        opened.catalog, agent=wanted.agent, only=wanted.only, splits=wanted.splits, repeats=wanted.repeats
    )
    known = agents or {}
    bank = replace(bank, questions=tuple(replace(q, agent=known.get(q.id, q.agent)) for q in bank.questions))
    bank, unasked = await banks.addressed(opened, bank, opened.principal(principal), agent=wanted.agent)
    if not bank.questions and not unasked:
        raise NothingAsked(f"no case matches {wanted.only!r}" + (f" for {wanted.agent}" if wanted.agent else ""))
    now = opened.clock.now()
    header = Header(
        name=wanted.name or f"{now:%Y%m%d-%H%M%S}",
        at=now,
        asked=bank.questions,
        examples=bank.examples,
        parts=await parts.of(opened, [q.agent for q in bank.questions if q.agent]),
    )
    place = folder.path_of(opened.root, header.name)
    return Planned(opened=opened, header=header, path=place, findings=(*findings, *unasked))


async def _judging(opened: engine.Engine, wanted: Wanted) -> Planned:
    """The same questions and answers under the rules of now; everything else is as it was then."""
    source = folder.read(opened.root, wanted.answers_of).header
    now = opened.clock.now()
    fresh = await parts.of(opened, [q.agent for q in source.asked if q.agent])
    judging_models = {name: use for name, use in fresh["model"].items() if name.startswith("guardrails/")}
    held = {name: use for name, use in source.parts["model"].items() if not name.startswith("guardrails/")}
    header = replace(
        source,
        name=wanted.name or f"{now:%Y%m%d-%H%M%S}",
        at=now,
        asked=tuple(replace(q, repeats=q.repeats * judging.TIMES) for q in source.asked),
        parts={**source.parts, "rules": fresh["rules"], "model": {**held, **judging_models}},
        answers_of=source.name,
    )
    return Planned(opened=opened, header=header, path=folder.path_of(opened.root, header.name), findings=())


async def _judged(planned: Planned, done: Evaluation, asking: answering.Asking, *, progress: Progress) -> None:
    """By agent, what was not judged yet."""
    source = folder.read(planned.opened.root, planned.header.answers_of)
    missing = {(q.id, (rep - 1) // judging.TIMES + 1) for q, rep in done.missing}
    for name in sorted({q.agent for q in planned.header.asked if q.agent}):
        asked = {q.id for q in planned.header.asked if q.agent == name}
        todo = [kept for kept in source.kept if kept.question in asked and (kept.question, kept.rep) in missing]
        judge = judges.Rules(asking=asking, agent=planned.opened.agent(name))
        await judging.judged_again(todo, judge, lambda kept: folder.append(planned.path, kept), progress=progress)


async def asked(
    planned: Planned, wanted: Wanted, *, progress: Progress = lambda _: None
) -> tuple[Evaluation, list[Finding]]:
    """Everything that is not there yet. Raises EvaluationBegun."""
    opened, header = planned.opened, planned.header
    done = begun(opened.root, planned.path, header)
    cassette = Cassette(path=wanted.cassette, is_recording=wanted.is_recording) if wanted.cassette else None
    # One memory of vectors for all questions: repeats say the same again, and rules compare it with the same examples.
    remembering = replace(opened, cache=Cache(opened.embedder))
    asking = answering.Asking(opened=remembering, parts=header.parts, cassette=cassette, is_live=wanted.is_live)
    if header.answers_of:
        await _judged(planned, done, asking, progress=progress)
        return await _ended(planned, done, asking), []
    try:
        findings = await evaluation.ask_all(
            done.missing,
            asking,
            lambda kept: folder.append(planned.path, kept),
            side_by_side=wanted.side_by_side,
            progress=progress,
        )
    except BaseExceptionGroup as group:
        raise _first(group) from None
    return await _ended(planned, done, asking), findings[:TOLD]


async def _ended(planned: Planned, done: Evaluation, asking: answering.Asking) -> Evaluation:
    """With what the rules say to their examples, as it now lies in the file."""
    known = {judged.example for judged in done.judged}
    todo = [example for example in planned.header.examples if example.id not in known]
    for said in await judges.examples(asking, todo):
        folder.append(planned.path, said)
    return folder.read(planned.opened.root, str(planned.path))


def begun(root: Path, place: Path, header: Header) -> Evaluation:
    """The evaluation of this file, begun now where there is none. Raises EvaluationBegun."""
    if not place.is_file():
        folder.begin(place, header)
        return Evaluation(header=header)
    done = folder.read(root, str(place))
    changed = dimension.changed(done.header.parts, header.parts)
    if changed or done.header.bank.sha256 != header.bank.sha256 or done.header.answers_of != header.answers_of:
        told = "; ".join(f"{name}: {', '.join(which)}" for name, which in changed.items()) or "another bank"
        raise EvaluationBegun(f"the evaluation {header.name!r} was begun under something else ({told})")
    return done


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What an operator can act on, of everything that went wrong side by side; else the first."""
    flat: list[BaseException] = []
    for inner in group.exceptions:
        flat.append(_first(inner) if isinstance(inner, BaseExceptionGroup) else inner)  # pyright: ignore[reportUnknownArgumentType]
    return next((e for e in flat if isinstance(e, UkaiError)), flat[0])


def summary(done: Evaluation) -> dict[str, Any]:
    """How far it got, how much passed and what it cost."""
    questions = {q.id: q for q in done.header.asked}
    passed = {split: [0, 0] for split in SPLITS}
    for kept in done.kept:
        question = questions[kept.question]
        passed[question.split][0] += not requirement.unmet(question, kept.run)
        passed[question.split][1] += 1
    used = [answering.usage_of(kept.run) for kept in done.kept]
    priced = [usd for _, usd in used if usd is not None]
    whole = [sum(counts) for counts in zip(*passed.values(), strict=True)]
    return {
        "evaluation": done.header.name,
        "cases": len(done.header.asked),
        "runs": len(done.kept),
        "missing": len(done.missing),
        "passed": stats.wilson(*whole).as_json(),
        "by_split": {split: stats.wilson(*counts).as_json() for split, counts in passed.items()},
        "tokens": sum(tokens for tokens, _ in used),
        "usd": round(sum(priced), 6) if len(priced) == len(used) else None,
        "errors": sum(kept.run.status == "error" for kept in done.kept),
    }


async def forecast(
    path: Path, wanted: Wanted, *, principal: str | None, progress: Progress = lambda _: None
) -> dict[str, Any]:
    """What `run` would ask, what it may cost, and which difference as many runs can show. Nothing is asked."""
    async with engine.opened(path) as opened:
        planned = await plan(opened, wanted, principal=principal, progress=progress)
        done = folder.read(opened.root, str(planned.path)) if planned.path.is_file() else None
        todo = done.missing if done else planned.header.bank.runs
        agents = sorted({q.agent for q, _ in todo if q.agent})
        cost = {name: await _cost(opened, name, opened.principal(principal)) for name in agents}
        counts = {name: sum(q.agent == name for q, _ in todo) for name in agents}
        known = _known(opened.root, planned.header)
    document: dict[str, Any] = {"evaluation": planned.header.name, "cases": len(planned.header.asked)}
    document |= {"runs": len(todo), "by_agent": {n: {"runs": counts[n], **cost[n]} for n in agents}}
    document["usd"] = _total([cost[n]["usd_a_run"] for n in agents], [counts[n] for n in agents])
    document["usd_at_most"] = _total([cost[n]["usd_at_most_a_run"] for n in agents], [counts[n] for n in agents])
    document |= _power(planned.header.bank, known)
    return document | ({"findings": [f.as_json() for f in planned.findings]} if planned.findings else {})


async def _cost(opened: engine.Engine, agent: str, who: str) -> dict[str, Any]:
    """From the agent's newest runs; without any, only what it is allowed to cost."""
    most = budgets.allowance(opened, opened.agent(agent), who).usd
    async with opened.db.snapshot() as tx:
        sight = record.Sight(principal=who, audit=opened.is_local)
        page = await record.page(tx, sight, agent=agent, limit=KNOWN_RUNS)
        raw = [await record.read(tx, run.run_id, sight) for run in page.runs if run.status is not None]
    runs = [run for line in raw if line is not None and (run := record.load(line)[0]) is not None]
    used = [answering.usage_of(run) for run in runs]
    priced = [usd for _, usd in used if usd is not None]
    return {
        "known_runs": len(runs),
        "tokens_a_run": round(fmean(t for t, _ in used)) if used else None,
        "usd_a_run": round(fmean(priced), 6) if priced and len(priced) == len(used) else None,
        "usd_at_most_a_run": None if most is None else float(most),
    }


def _total(each: Sequence[float | None], counts: Sequence[int]) -> float | None:
    if any(one is None for one in each):
        return None
    return round(sum((one or 0.0) * count for one, count in zip(each, counts, strict=True)), 4)


def _known(root: Path, header: Header) -> power.Spread:
    """How the cases passed in the newest evaluation that asked some of them; the prior where there is none."""
    ids = {q.id for q in header.asked}
    for name in reversed(folder.names(root)):
        done = folder.read(root, name)
        questions = {q.id: q for q in done.header.asked}
        values: dict[str, list[float]] = {}
        for kept in done.kept:
            if kept.question in ids:
                values.setdefault(kept.question, []).append(
                    float(not requirement.unmet(questions[kept.question], kept.run))
                )
        if values:
            return power.spread_of(values)
    return power.Spread()


def _power(bank: Bank, spread: power.Spread) -> dict[str, Any]:
    repeats = min((q.repeats for q in bank.questions), default=1)
    clusters = len({q.cluster for q in bank.questions})
    given: dict[str, Any] = {"cases": len(bank.questions), "repeats": repeats, "clusters": clusters, "spread": spread}
    sees = {f"{d:.2f}": round(power.power(d, **given), 3) for d in (0.05, 0.1, 0.2)}
    return {"subjects": clusters, "detectable": power.detectable(**given), "power": sees}
