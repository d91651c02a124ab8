"""What happened, in sentences: each a pure function from rows to text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from barnabas.analysis.derived.unavailability import NEVER_LED
from barnabas.analysis.questions.availability import OFFLINE

Row = Mapping[str, Any]

TERMS = {
    "controller": "the one broker that decides who leads; each reign has the next controller epoch",
    "leader": "the replica of a partition that takes its writes; each election has the next leader epoch",
    "ISR": "the in-sync replicas; with acks=all a write waits for all of them, and needs min.insync.replicas",
    "under-replicated": "fewer replicas in sync than assigned",
    "noticed": "the controller learns of a dead broker when its ZooKeeper session expires, seconds later",
    "LeaderAndIsr": "the request with which the controller tells brokers what they lead and follow",
}
"""The words of a report, for who does not use them daily."""

UNBOUNDED = "the lost leader's log of that time is not among these"
"""Why an outage may be longer than it was noticed for."""

_MILLISECOND = timedelta(milliseconds=1)

_CLOCKS_MS = 2_000
"""Brokers' clocks differ by less. Where a step is further behind, the logs are not of one cluster."""


class Step(NamedTuple):
    """One thing that happened.

    Attributes:
        time: When; None where the logs do not say.
        text: What, as a sentence without full stop.
    """

    time: datetime | None
    text: str


class TimedStep(NamedTuple):
    """A step, and how long after the one before it it was.

    Attributes:
        time: As in ``Step``.
        after: Milliseconds; None for the first, and where no time is known or none can be meant.
        text: As in ``Step``; says so where the two do not fit together.
    """

    time: datetime | None
    after: float | None
    text: str


def timed(told: Iterable[Step]) -> list[TimedStep]:
    """Steps with the time from one to the next, as far as clocks allow to tell."""
    with_times: list[TimedStep] = []
    before: datetime | None = None
    for step in told:
        after, text = span(before, step.time), step.text
        if after is not None and after < -_CLOCKS_MS:
            after, text = None, f"{text}; clocks, or clusters, do not fit together"
        with_times.append(TimedStep(step.time, after, text))
        before = step.time or before
    return with_times


def duration(milliseconds: float | None) -> str:
    """A span of time as a person says it: ``25 ms``, ``4.4 s``, ``2 min 32 s``, ``3 h 5 min``."""
    if milliseconds is None:
        return "an unknown time"
    sign, ms = ("-" if milliseconds < 0 else ""), abs(milliseconds)
    if ms < 1_000:
        return f"{sign}{ms:.0f} ms"
    if ms < 60_000:
        return f"{sign}{ms / 1_000:.1f} s"
    minutes, seconds = divmod(round(ms / 1_000), 60)
    if minutes < 60:
        return f"{sign}{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{hours} h {minutes} min" if hours < 48 else f"{sign}{hours / 24:.1f} days"


def span(start: datetime | None, end: datetime | None) -> float | None:
    """Milliseconds from one time to another; None where one is unknown."""
    return None if start is None or end is None else (end - start) / _MILLISECOND


def count(number: int, noun: str) -> str:
    """``1 partition``, ``1,200 partitions``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(ids: Iterable[int] | None) -> str:
    """``1, 2 and 3``; ``nobody`` for none."""
    names = [str(each) for each in ids or ()]
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names) or "nobody"


def headline(stall: Row) -> str:
    """What kept writes to a partition waiting, in one sentence."""
    name = f"{stall['topic']}-{stall['partition']}"
    if stall["what"] != OFFLINE:
        how_long = _lasting(stall["since"], stall["until"])
        return (
            f"{name} had {stall['least']} of {stall['assigned']} replicas in sync {how_long}: {_out(stall)}"
        )
    return f"{name} had no leader {_without_leader(stall)}: {stall['cause']}"


def _without_leader(stall: Row) -> str:
    since, end, before = stall["since"], stall["until"], stall["earliest"]
    if end is None:
        return _lasting(since, end)
    noticed = max(span(since, end) or 0, 0)
    if before is None and stall["cause"] != NEVER_LED:
        return f"for {noticed_for(noticed, None)}"
    return f"for {noticed_for(noticed, span(min(before or since, since), end))}"


def noticed_for(noticed: float, at_most: float | None) -> str:
    """How long there was no leader: what the controller saw of it, and what it can have been.

    Args:
        noticed: Milliseconds from when the controller noticed.
        at_most: From the last line of the dead leader; None where that is not at hand.
    """
    if at_most is None:
        return f"at least {duration(noticed)} ({UNBOUNDED})"
    if at_most <= noticed:
        return duration(noticed)
    return f"at most {duration(at_most)}, noticed for {duration(noticed)}"


def _lasting(start: datetime, end: datetime | None) -> str:
    return "until the logs end" if end is None else f"for {duration(span(start, end))}"


def _out(stall: Row) -> str:
    missing = stall["missing"] or ()
    return f"broker{'' if len(missing) == 1 else 's'} {listed(missing)} fell out"


def steps(stall: Row, around: Sequence[Row] = ()) -> list[Step]:
    """What happened, in its order.

    Args:
        stall: A row of ``write_stalls``.
        around: The partition's other stalls: those that overlap say who else could have led.
    """
    return _under_replicated(stall) if stall["what"] != OFFLINE else _offline(stall, around)


def _offline(stall: Row, around: Sequence[Row]) -> list[Step]:
    before = stall["leader_before"]
    told: list[Step] = []
    begin = stall["earliest"] or stall["since"]
    told.extend(
        Step(
            other["since"],
            f"only {other['least']} of {other['assigned']} replicas were in sync: {_out(other)}",
        )
        for other in around
        if other["what"] != OFFLINE and other["since"] < begin and _touches(other, stall)
    )
    if stall["earliest"] is not None:
        told.append(
            Step(
                stall["earliest"],
                f"the log of broker {before}, its leader, falls silent: it died or hung then or later",
            )
        )
    by = "" if stall["controller_epoch"] is None else f" in controller epoch {stall['controller_epoch']}"
    told.append(Step(stall["since"], f"the controller noticed{by}: {stall['cause']}"))
    if stall["failed"]:
        said = (stall["failure"] or "no reason given").removeprefix("kafka.common.")
        told.append(Step(None, f"{count(stall['failed'], 'election')} failed; {said}"))
    if stall["elected"] is None:
        told.append(Step(None, "nobody had been elected when the logs end"))
        return told
    if stall["leader_after"] is None:
        told.append(Step(stall["elected"], "the topic was deleted"))
        return told
    epoch = "" if stall["leader_epoch"] is None else f", leader epoch {stall['leader_epoch']}"
    told.append(Step(stall["elected"], f"broker {stall['leader_after']} was elected{epoch}"))
    if stall["led_at"] is not None:
        told.append(
            Step(stall["led_at"], f"broker {stall['leader_after']} began to lead: writes could go on")
        )
    return told


def _under_replicated(stall: Row) -> list[Step]:
    least = stall["least"]
    told = [
        Step(stall["since"], f"{_out(stall)}; acks=all was refused if min.insync.replicas is above {least}"),
    ]
    if stall["sure_until"] is not None:
        told.append(
            Step(stall["sure_until"], "the last line that shows it; the ISR was written unseen after it")
        )
    if stall["until"] is not None:
        told.append(Step(stall["until"], "all replicas are in sync again, at the latest"))
    return told


def _touches(one: Row, other: Row) -> bool:
    return one["until"] is None or one["until"] >= other["since"]


def failover_headline(story: Row) -> str:
    """One failover in one sentence. Of a broker that led nothing it is not known whether it was lost."""
    broker, controller = story["broker"], story["controller"]
    if not story["partitions"]:
        return (
            f"Broker {broker} was elected controller again"
            if broker == controller
            else f"Broker {controller} took over from broker {broker} as controller"
        )
    role = "the controller and " if story["was_controller"] else ""
    return f"Broker {broker}, {role}leader of {count(story['partitions'], 'partition')}, was lost"


def failover_total(story: Row) -> str:
    """How long a failover took, as far as the logs show; empty where they do not."""
    if story["led"] is None or story["noticed"] is None:
        return ""
    noticed = max(span(story["noticed"], story["led"]) or 0, 0)
    told = f"{duration(noticed)} from its notice to the last new leader"
    total = story["total_ms"]
    if total is None:
        return f"{told} ({UNBOUNDED})"
    return f"{told}, at most {duration(total)} in all" if total > noticed else told


def failover_steps(story: Row) -> list[Step]:
    """Trigger, detection, election, LeaderAndIsr, leaders, followers; those that the logs show."""
    controller, told = story["controller"], []
    if story["heard"] is not None:
        silent = f"the log of broker {story['broker']} falls silent"
        deposed = f"broker {story['broker']} acted as controller for the last time"
        told.append(Step(story["heard"], silent if story["partitions"] else deposed))
    if story["reigned"] is not None:
        told.append(
            Step(
                story["reigned"], f"broker {controller} became controller, epoch {story['controller_epoch']}"
            )
        )
    if story["partitions"]:
        told.append(
            Step(
                story["noticed"],
                f"the controller noticed: {count(story['partitions'], 'partition')} had no leader",
            )
        )
    if story["elected"] is not None:
        to = f"broker{'' if len(story['leaders']) == 1 else 's'} {listed(story['leaders'])}"
        told.append(Step(story["elected"], f"{count(story['moved'], 'partition')} moved to {to}"))
    if story["sent"] is not None:
        told.append(Step(story["sent"], "the first LeaderAndIsr was sent"))
    told.extend(_taken_over(story))
    if story["waited"]:
        waited = f"{count(story['waited'], 'partition')} waited for broker {story['broker']} to come back"
        told.append(Step(story["returned"], waited))
    if story["stranded"]:
        told.append(Step(None, f"{count(story['stranded'], 'partition')} found no leader"))
    return told


def _taken_over(story: Row) -> list[Step]:
    """The last to lead and the last to follow. They may be of two partitions: the earlier comes first."""
    done = (("led", "the last new leader led"), ("followed", "the last of their followers followed"))
    told = [
        Step(story[name], f"{what}{', by a clock that is behind' if story[f'{name}_behind'] else ''}")
        for name, what in done
        if story[name] is not None
    ]
    is_in_order = story["led_behind"] or story["followed_behind"]
    return told if is_in_order else sorted(told)
