"""The judge of what a story says about partitions: times without a leader, their causes, and ISRs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import zip_longest

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.costs import Cost, Ending, Reason
from barnabas.analysis.story.incident import Incident, IncidentKind
from barnabas.analysis.story.isr import IsrStep
from barnabas.analysis.story.partitions import Gap
from barnabas.analysis.story.rows import BrokerLine, Refusal
from barnabas.analysis.story.shortages import Shortage
from barnabas.bench.truth.bounds import ROUNDING, WRITTEN, holds, is_within, lasted, late, said
from barnabas.bench.truth.truths import InSync, Leaderless, Truth

NOTABLE = timedelta(milliseconds=500)
"""The shortest time without a leader that must be reported."""


def costs(truth: Truth, story: Sequence[Incident], unseen: Sequence[Gap] = ()) -> Iterator[str]:
    """Judge the times without a leader, and find those that are missed.

    Args:
        truth: The truth.
        story: The story.
        unseen: The leader changes that the story calls unseen.
    """
    left = [each for each in truth.leaderless if each.is_due and each.least >= NOTABLE]
    reported: list[Leaderless] = []
    for incident in story:
        brokers = {each.broker for each in incident.absences}
        for cost in incident.costs:
            true: list[Leaderless] = []
            for name in cost.partitions:
                of_it = [
                    each for each in truth.leaderless
                    if each.partition == name and (not brokers or each.leader_before in brokers)
                ]  # fmt: skip
                fitting = [each for each in of_it if _fits(cost, each, truth, is_known=bool(brokers))]
                left = [each for each in left if each not in fitting]
                reported.extend(fitting)
                true.extend(fitting)
                if not fitting:
                    yield f"{name} {cost.ending} {lasted(cost.duration)}; truly {_outages(of_it)}"
            if true:
                yield from _whole_cost(cost, true)
    for each in left:
        if not any(_is_rest(of, each) for of in reported) and not any(_hides(gap, each) for gap in unseen):
            yield f"missed: {_outages([each])}"


def _hides(gap: Gap, true: Leaderless) -> bool:
    """Return whether a partition had no leader while its states are reported as unseen, and so as unknown."""
    topic, partition, _ = gap.life
    return (
        f"{topic}-{partition}" == true.partition
        and gap.since <= true.begin.high + WRITTEN
        and (true.end is None or true.end.low <= gap.until + ROUNDING)
    )


def _whole_cost(cost: Cost, true: Sequence[Leaderless]) -> Iterator[str]:
    """Judge what is said of all partitions of a cost together, by the times without a leader that fit."""
    first = min(each.begin.low for each in true)
    # Only these endings are printed with their begin.
    is_open = cost.ending in (Ending.NOT_SHOWN, Ending.LASTING)
    if is_open and cost.begin is not None and cost.begin < first - ROUNDING:
        yield f"no leader is claimed at {cost.begin}; truly from {first} on"
    names = ", ".join(cost.partitions)
    if cost.ending is Ending.MOVED:
        for leader in set(cost.leaders) - {each.leader_after for each in true}:
            yield f"broker {leader} is claimed to lead {names}; truly {_outages(true)}"
    # Of those that begin together only one is true.
    if cost.times > len({(each.partition, each.begin) for each in true}):
        yield f"{names} claimed to have had no leader {cost.times} times; truly {_outages(true)}"


def _is_rest(reported: Leaderless, true: Leaderless) -> bool:
    """Return whether one is the other but for its begin, which was too short to be reported, or for its end.

    Of those that begin together only one is true, and the measurements do not show which.
    """
    if reported.partition != true.partition:
        return False
    is_end = reported.end == true.end and reported.begin.high - true.begin.high < NOTABLE
    return is_end or (reported.leader_before, reported.begin) == (true.leader_before, true.begin)


def _fits(cost: Cost, true: Leaderless, truth: Truth, *, is_known: bool) -> bool:
    """Return whether a time without a leader is the one of a cost.

    If no broker is named that was lost (``is_known``), the next leader may be the one before.
    """
    if not holds(cost.duration, true.least, true.most):
        return False
    if cost.begin is not None and true.end is not None and true.end.high + ROUNDING < cost.begin:
        return False
    match cost.ending:
        case Ending.RETURNED | Ending.ELECTED_AGAIN:
            return true.leader_after == true.leader_before
        case Ending.MOVED:
            is_other = true.leader_after != true.leader_before
            return (is_other or not is_known) and true.leader_after in cost.leaders
        case Ending.ELECTED:
            # Another one that was elected before the next leader led nothing.
            in_vain = {
                each.leader_before
                for each in truth.leaderless
                if (each.partition, each.end) == (true.partition, true.end)
            }
            return bool({*cost.leaders} & {true.leader_after, *in_vain} - {true.leader_before})
    return True


def causes(incident: Incident, truth: Truth, unseen: Sequence[Gap] = ()) -> Iterator[str]:
    """Judge why partitions are claimed to have lost their leaders, where no broker is named that left.

    Args:
        incident: The incident.
        truth: The truth.
        unseen: The leader changes that the story calls unseen, and with them who led before.
    """
    if incident.kind is IncidentKind.NO_LEADER:
        known = [_of_cost(cost, name, incident, truth) for cost in incident.costs for name in cost.partitions]
        for cost in incident.costs:
            yield from _reason(cost, incident, truth, unseen)
        begins = [each.begin.low for of in known for each in of]
        if begins and incident.since < min(begins) - ROUNDING:
            since = incident.since
            yield f"partitions are claimed to have lost their leaders by {since}; truly {min(begins)}"
    for line in incident.failures:
        if not any(
            each.broker == line.subject
            and is_within(line.time, each.failed)
            and incident.since <= each.failed.high + WRITTEN
            for each in truth.disks
        ):
            yield f"broker {line.subject} is claimed to have lost a log directory; truly {truth.disks}"
    for refusal in incident.refusals:
        name = f"{refusal.topic}-{refusal.partition}"
        if not any(
            each.broker == refusal.broker
            and name in each.partitions
            and each.failed.low <= refusal.time + ROUNDING
            for each in truth.disks
        ):
            yield f"broker {refusal.broker} is claimed to have refused {name}; truly {truth.disks}"


def _reason(cost: Cost, incident: Incident, truth: Truth, unseen: Sequence[Gap]) -> Iterator[str]:
    """Judge the reason of one cost: the log directory of a broker that is named, its return, or none."""
    if isinstance(cost.reason, BrokerLine) and cost.reason.kind == BrokerKind.BOUNCED_UNSEEN:
        yield from _bounce(cost.reason, truth)
        return
    named = None if cost.reason is None else _broker(cost.reason)
    losses = {name: _of_cost(cost, name, incident, truth) for name in cost.partitions}
    wrong = sorted(
        name
        for name, lost in losses.items()
        if lost and not any(_is_explained(each, named, truth) for each in lost)
    )
    if wrong and named is None:
        known = [
            name for name in wrong if not any(_hides(gap, each) for gap in unseen for each in losses[name])
        ]
        if known:
            yield f"no cause is named why {', '.join(known)} had no leader"
    elif wrong:
        names = ", ".join(wrong)
        yield f"broker {named} is named as the cause why {names} had no leader; truly {truth.disks}"


def _bounce(line: BrokerLine, truth: Truth) -> Iterator[str]:
    """Judge whether a broker had been gone when a controller found that it had registered again."""
    own = [each for each in truth.departures if each.broker == line.subject]
    if not any(each.gone.low <= line.time + ROUNDING for each in own):
        yield f"broker {line.subject} is claimed to have registered again by {line.time}; truly {own}"


def _broker(reason: Reason) -> int | None:
    """Return the broker that a reason names; None if a controller's line does not name it."""
    return reason.broker if isinstance(reason, Refusal) else reason.subject


def _of_cost(cost: Cost, name: str, incident: Incident, truth: Truth) -> list[Leaderless]:
    """Return the times without a leader of a partition that a cost may be about."""
    return [
        each
        for each in truth.leaderless
        if each.partition == name
        and _fits(cost, each, truth, is_known=False)
        and (each.end is None or incident.since <= each.end.high + ROUNDING)
        and (incident.until is None or each.begin.low <= incident.until + ROUNDING)
    ]


def _is_explained(lost: Leaderless, named: int | None, truth: Truth) -> bool:
    """Return whether the named broker's log directory took a leader, or none is named and none is known."""
    if named is None:
        return not _has_cause(lost, truth)
    return lost.leader_before == named and _is_dark(lost, truth)


def _has_cause(lost: Leaderless, truth: Truth) -> bool:
    """Return whether a leader that was lost had gone, or its log directory."""
    return _is_dark(lost, truth) or any(
        each.broker == lost.leader_before
        and each.gone.low <= lost.begin.high
        and (each.returned is None or lost.begin.low <= each.returned.high)
        for each in truth.departures
    )


def _is_dark(lost: Leaderless, truth: Truth) -> bool:
    """Return whether the log directory of the lost leader was gone."""
    return any(
        each.broker == lost.leader_before and lost.partition in each.partitions
        and each.failed.low <= lost.begin.high and lost.begin.low <= each.failed.high
        for each in truth.disks
    )  # fmt: skip


def unclean(incident: Incident) -> Iterator[str]:
    """Judge unclean elections, which no cluster of a scenario allows."""
    for each in incident.unclean:
        yield f"an unclean election of broker {each.leader} is claimed {said(each.when)}; truly none"


def shortage(claimed: Shortage, truth: Truth) -> Iterator[str]:
    """Judge the ISR of the partition that is named as the worst, step by step."""
    if claimed.minimum not in (None, truth.min_insync):
        yield f"min.insync.replicas={claimed.minimum}; truly {truth.min_insync}"
    true = truth.in_sync.get(claimed.worst)
    if true is None:
        if truth.in_sync:
            yield f"{claimed.worst} is claimed to be short of replicas; there is no such partition"
        return
    for step in claimed.steps:
        if not _is_seen(step, true, truth):
            yield f"{claimed.worst} had {step.size} in sync from {step.since} on; truly {true}"
        if step.is_certain and step.until is not None:
            others = [
                each
                for each in true
                if step.since + WRITTEN < each.since < step.until - late(each.since, truth)
                and each.size != step.size
            ]
            if others:
                yield f"{claimed.worst} had {step.size} in sync until {step.until}; truly {others}"


def _is_seen(step: IsrStep, true: Sequence[InSync], truth: Truth) -> bool:
    """Return whether an ISR of the step's size began at the step's line, or held then if it may be older."""
    for each, after in zip_longest(true, true[1:]):
        if each is None or each.size != step.size or each.since > step.since + WRITTEN:
            continue
        until = each.since if step.is_begun else None if after is None else after.since
        if until is None or step.since - until <= late(until, truth):
            return True
    return False


def _outages(true: Sequence[Leaderless]) -> str:
    return (
        ", ".join(
            f"{each.partition} without leader after {each.leader_before} for [{each.least}, {each.most}], "
            f"then {each.leader_after}"
            for each in true
        )
        or "never"
    )
