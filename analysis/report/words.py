"""The sentences of a report, as pure functions from rows to text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from barnabas.analysis.derived.unavailability import NEVER_LED, NOTIFIED_ONLY
from barnabas.analysis.questions.availability import OFFLINE
from barnabas.analysis.story.certainty import Bound, Duration, Fact, Unknown, between, moment
from barnabas.analysis.story.words import Rounding, lasted
from barnabas.analysis.story.words import duration as span_text

Row = Mapping[str, Any]

TERMS = {
    "controller": "the one broker that elects leaders; each new controller raises the controller epoch",
    "leader": "the replica of a partition that takes its writes; each election raises the leader epoch",
    "ISR": "the in-sync replicas; with acks=all a write waits for all of them, and needs min.insync.replicas",
    "under-replicated": "fewer replicas in sync than assigned",
    "noticed": "the controller learns of a dead broker when its session expires, seconds later: the one with "
    "ZooKeeper, or, under KRaft, with the controller",
    "LeaderAndIsr": "the request with which a controller of ZooKeeper mode makes brokers lead or follow",
}
"""The terms of a report, for readers who do not use them daily."""

UNBOUNDED = "no line shows when the old leader was lost"
"""The reason why an outage may have begun before it was noticed."""

UNLED = "no line shows when the new leader led"
"""The reason why an outage may have ended later than with the election."""

_MILLISECOND = timedelta(milliseconds=1)

_CLOCKS_MS = 2_000
"""The most that brokers' clocks are assumed to differ; beyond it the logs are of different clusters."""


class Step(NamedTuple):
    """A step of a failover or of a stall.

    Attributes:
        time: The time of the step; None if the logs do not show it.
        text: A sentence without a full stop.
        is_apart: Whether its clock differs from the controller's.
    """

    time: datetime | None
    text: str
    is_apart: bool = False


class TimedStep(NamedTuple):
    """A step with the time since the step before it.

    Attributes:
        time: As in ``Step``.
        after: Milliseconds since the step before, never negative; None for the first step, and if a time is
            unknown or the clocks contradict each other.
        text: As in ``Step``, with a note if the clocks contradict each other.
    """

    time: datetime | None
    after: float | None
    text: str


def timed(found: Iterable[Step]) -> list[TimedStep]:
    """Add the time from one step to the next, unless the clocks contradict each other."""
    with_times: list[TimedStep] = []
    before: datetime | None = None
    was_apart = False
    for step in found:
        is_by_two = step.is_apart or was_apart
        after, text = None if is_by_two else span(before, step.time), step.text
        if after is not None and after < -_CLOCKS_MS:
            text = f"{text}; the clocks contradict each other, or the logs are of different clusters"
        if after is not None and after < 0:
            after = None
        with_times.append(TimedStep(step.time, after, text))
        before, was_apart = step.time or before, step.is_apart
    return with_times


def duration(milliseconds: float | None, rounding: Rounding = Rounding.NEAREST) -> str:
    """Format a span of time such as ``25 ms``, ``4.4 s``, ``2 min 32 s`` or ``3 h 5 min``."""
    if milliseconds is None:
        return "an unknown time"
    sign = "-" if milliseconds < 0 else ""
    return f"{sign}{span_text(timedelta(milliseconds=abs(milliseconds)), rounding)}"


def span(start: datetime | None, end: datetime | None) -> float | None:
    """Return the milliseconds from one time to another; None if one is unknown."""
    return None if start is None or end is None else (end - start) / _MILLISECOND


def count(number: int, noun: str) -> str:
    """Format a number with its noun: ``1 partition``, ``1,200 partitions``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(ids: Iterable[int] | None) -> str:
    """Format ids as ``1, 2 and 3``; ``nobody`` for none."""
    names = [str(each) for each in ids or ()]
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names) or "nobody"


def headline(stall: Row) -> str:
    """Return one sentence about the cause for which writes to a partition waited."""
    name = f"{stall['topic']}-{stall['partition']}"
    if stall["what"] != OFFLINE:
        in_sync = f"{stall['least']} of {stall['assigned']} replicas in sync"
        return f"{name} had {in_sync} {_short(stall)}: {_out(stall)}"
    return f"{name} had no leader {_without_leader(stall)}: {stall['cause']}"


def _without_leader(stall: Row) -> str:
    since, end, before = stall["since"], stall["until"], stall["earliest"]
    if end is None:
        return _LASTING
    # A leader is lost before the controller notices, and the next one leads after its election.
    begin = Fact(since) if stall["cause"] == NEVER_LED else moment(before, since, (), "")
    is_seen = stall["led_at"] is not None or stall["leader_after"] is None
    found = between(begin, Fact(end) if is_seen else moment(end, None, (), ""))
    if "at_least_ms" in stall:
        found = _between_ms(stall["at_least_ms"], stall["at_most_ms"])
    missing = UNLED if not is_seen else UNBOUNDED if before is None else ""
    return _with_reason(found, missing)


def _between_ms(at_least: float | None, at_most: float | None) -> Duration:
    if at_least is None and at_most is None:
        return Unknown("the incident does not show it")
    low, high = (None if each is None else each * _MILLISECOND for each in (at_least, at_most))
    return Fact(low) if low is not None and low == high else Bound(low or None, high)


def _with_reason(found: Duration, missing: str) -> str:
    """Format a duration, with the reason if nothing bounds it from above."""
    is_open = not isinstance(found, Fact) and (not isinstance(found, Bound) or found.at_most is None)
    return f"{lasted(found)} ({missing})" if is_open and missing else lasted(found)


_LASTING = "as far as the logs show"


def _short(stall: Row) -> str:
    since, until, sure = stall["since"], stall["until"], stall["sure_until"]
    if until is None:
        return _LASTING
    end = Fact(until) if sure is None else moment(sure, until, (), "")
    return lasted(between(Fact(since), end))


def _out(stall: Row) -> str:
    missing = stall["missing"] or ()
    return f"broker{'' if len(missing) == 1 else 's'} {listed(missing)} fell out"


def steps(stall: Row, around: Sequence[Row] = ()) -> list[Step]:
    """Return the steps of a stall in their order.

    Args:
        stall: A row of ``write_stalls``.
        around: The partition's other stalls; those that overlap show who else could have led.
    """
    return _under_replicated(stall) if stall["what"] != OFFLINE else _offline(stall, around)


def _offline(stall: Row, around: Sequence[Row]) -> list[Step]:
    before = stall["leader_before"]
    found: list[Step] = []
    begin = stall["earliest"] or stall["since"]
    found.extend(
        Step(
            other["since"],
            f"only {other['least']} of {other['assigned']} replicas were in sync: {_out(other)}",
        )
        for other in around
        if other["what"] != OFFLINE and other["since"] < begin and _touches(other, stall)
    )
    begun: list[Step] = []
    if stall["earliest"] is not None:
        last = f"the last line of broker {before}, its leader, before the controller noticed"
        sure = f"broker {before}, its leader, led it until then or longer"
        begun.append(Step(stall["earliest"], last if stall.get("is_silent", True) else sure))
    by = "" if stall["controller_epoch"] is None else f" in controller epoch {stall['controller_epoch']}"
    if stall["cause"] == NOTIFIED_ONLY:
        # The line of a broker may be much later than the notice.
        begun.append(Step(stall["since"], "a broker's first line that it has no leader"))
    else:
        begun.append(Step(stall["since"], f"the controller noticed{by}: {stall['cause']}"))
    # A leader that stops may lead on after elections of another one have failed.
    is_late = stall.get("is_silent") is False and begun[0].time is not None and begun[0].time > stall["since"]
    found.extend(reversed(begun) if is_late else begun)
    if stall["failed"]:
        said = (stall["failure"] or "no reason given").removeprefix("kafka.common.")
        found.append(Step(None, f"{count(stall['failed'], 'election')} failed; {said}"))
    if stall["elected"] is None:
        found.append(Step(None, "no line shows a later election"))
        return found
    if stall["leader_after"] is None:
        found.append(Step(stall["elected"], "the topic was deleted"))
        return found
    epoch = "" if stall["leader_epoch"] is None else f", leader epoch {stall['leader_epoch']}"
    found.append(Step(stall["elected"], f"broker {stall['leader_after']} was elected{epoch}"))
    found.append(
        Step(None, UNLED)
        if stall["led_at"] is None
        else Step(stall["led_at"], f"broker {stall['leader_after']} began to lead")
    )
    return found


def _under_replicated(stall: Row) -> list[Step]:
    unknown = f"acks=all was refused if min.insync.replicas is above {stall['least']}"
    found = [Step(stall["since"], f"{_out(stall)}; {stall.get('writes') or unknown}")]
    if stall["sure_until"] is not None:
        found.append(
            Step(stall["sure_until"], "the last line that shows it; the ISR was written unseen after it")
        )
    if stall["until"] is not None:
        found.append(Step(stall["until"], "all replicas are in sync again, at the latest"))
    return found


def _touches(one: Row, other: Row) -> bool:
    return one["until"] is None or one["until"] >= other["since"]
