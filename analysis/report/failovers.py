"""The sentences of a failover; which broker left, and why, they take from the incidents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from barnabas.analysis.questions.failovers import APART
from barnabas.analysis.report.same_facts import BOUNCED, FAILED_DIRECTORY, REFUSED
from barnabas.analysis.report.words import UNBOUNDED, UNLED, Step, count, duration, listed, span
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import Bound
from barnabas.analysis.story.intervals import Intervals
from barnabas.analysis.story.observed import CLOCKS
from barnabas.analysis.story.words import lasted

Row = Mapping[str, Any]

_LEFT: Mapping[str, str] = {
    Cause.PLANNED: "stopped in an orderly way",
    Cause.STOPPED: "stopped in an orderly way",
    Cause.NOT_GRANTED: "stopped after a failed controlled shutdown",
    Cause.DIED: "died",
    Cause.LOST_SESSION: "was given up by the cluster, although its process lived on",
    Cause.FENCED: "was fenced (whether it stopped or was lost is unknown)",
    Cause.UNREGISTERED: "was unregistered",
    Cause.UNKNOWN: "was lost (why is unknown)",
    Cause.LOST_OR_STOPPED: "was lost or stopped (which is unknown)",
}

_MILLISECOND = timedelta(milliseconds=1)

_APART = "no time until the last new leader is claimed, as the clocks of brokers differ"

NO_STEPS = (
    "No controller's line shows partitions that lost their leader step by step (only ZooKeeper mode has such "
    "lines); the incidents tell what happened."
)
"""The words where the logs show no failover of partitions."""


class Departure(NamedTuple):
    """The departure of a broker that a failover followed.

    Attributes:
        incident: The number of the incident in the report.
        lines: The lines that prove the departure; those of the incident's first sentence if there are none.
        cause: The value of a ``Cause``.
        was_controller: Whether the broker was the controller until then.
    """

    incident: int
    lines: Sequence[Row]
    cause: str
    was_controller: bool


def missing_steps(stories: Sequence[Row]) -> str:
    """Return a note if no failover has partitions; empty otherwise.

    Args:
        stories: The rows of ``failovers``.
    """
    return "" if any(story["partitions"] for story in stories) else NO_STEPS


class Departures:
    """The departures of brokers, to find the one that a failover followed.

    Args:
        incidents: The incidents as plain data (``analysis.report.incidents``).
    """

    def __init__(self, incidents: Iterable[Row]) -> None:
        spans: dict[int, list[tuple[datetime, datetime | None, Departure]]] = {}
        for index, incident in enumerate(incidents):
            for absence in incident["absences"]:
                begin, end = _edges(absence)
                if begin is not None:
                    lines = absence["lines"] or incident["lines"]
                    left = Departure(index, lines, absence["cause"], absence["was_controller"])
                    spans.setdefault(absence["broker"], []).append((begin, end, left))
        self._by_broker = {broker: Intervals(each) for broker, each in spans.items()}
        # By another clock the time of a return says nothing.
        self._without_ends = {
            broker: Intervals((begin, None, left) for begin, _, left in each)
            for broker, each in spans.items()
        }

    def of(self, story: Row) -> Departure | None:
        """Return the latest departure of a failover's broker within which the loss was noticed.

        Args:
            story: A row of ``failovers``.

        Returns:
            None if no incident has such a departure. The failure of a log directory moves leaders, too.
        """
        spans = self._without_ends if story.get("is_behind", False) else self._by_broker
        if story["broker"] not in spans:
            return None
        found = spans[story["broker"]].near(story["noticed"], CLOCKS, CLOCKS)
        return found[-1] if found else None


def _edges(absence: Row) -> tuple[datetime | None, datetime | None]:
    """Return the earliest known time of a departure and the latest of the return; None where unknown."""
    gone, noticed, returned = absence["gone"], absence["noticed"], absence["returned"]
    known = (
        absence["stopping"], gone.get("value"), gone.get("at_least"), gone.get("at_most"),
        noticed.get("value"),
    )  # fmt: skip
    return (
        min((time for time in known if time is not None), default=None),
        returned.get("value") or returned.get("at_most"),
    )


def failover_headline(story: Row, left: Departure | None) -> str:
    """Return one sentence about a failover, without a full stop.

    Args:
        story: A row of ``failovers``.
        left: The departure of its broker; None if no incident tells one.
    """
    broker, controller = story["broker"], story["controller"]
    if not story["partitions"]:
        return (
            f"Broker {broker} was elected controller again"
            if broker == controller
            else f"Broker {controller} took over from broker {broker} as controller"
        )
    partitions = count(story["partitions"], "partition")
    if left is None:
        why = story.get("cause")
        is_told = why in (BOUNCED, FAILED_DIRECTORY, REFUSED)
        reason = f": {why}" if is_told else "; no incident of this report tells why"
        return f"{partitions} lost broker {broker} as leader{reason}"
    # It may have become the controller between this failover and the end of its process.
    role = ", the controller," if left.was_controller and story["was_controller"] else ""
    return f"Broker {broker}{role} {_LEFT[left.cause]}; {partitions} had no leader"


def failover_total(story: Row) -> str:
    """Format how long a failover took; empty if the logs do not show it.

    The times of the partitions that moved say nothing about those that waited, or got no other leader.
    """
    if story["noticed"] is None:
        return ""
    parts = [] if story["led"] is None else [_until_led(story)]
    if story["waited"]:
        is_apart = story["broker"] in story.get("apart", ())
        waited = 0 if is_apart else max(span(story["noticed"], story["returned"]) or 0, 0)
        until = f" until {duration(waited)} after the notice" if waited else ""
        parts.append(f"{count(story['waited'], 'partition')} waited for broker {story['broker']}{until}")
    if story["stranded"]:
        parts.append(_stranded(story))
    return "; ".join(parts)


def _stranded(story: Row) -> str:
    # Some may have got a leader later, when a replica returned.
    return (
        f"no line shows another leader of {count(story['stranded'], 'partition')} within "
        f"{APART.total_seconds():.0f} s"
    )


def _until_led(story: Row) -> str:
    """Format how long it took until the partitions that moved had a new leader."""
    noticed = max(span(story["noticed"], story["led"]) or 0, 0)
    is_of_all = not story["waited"] and not story["stranded"]
    moved = "" if is_of_all else f" of {count(story['moved'], 'partition')}"
    found = f"{duration(noticed)} from the notice to the last new leader{moved}"
    if story["led_unseen"]:
        return f"at least {found} ({UNLED}: {count(story['led_unseen'], 'partition')})"
    total = story["total_ms"]
    if not set(story.get("apart", ())).isdisjoint(story["leaders"]):
        return _APART
    if total is None:
        return f"{found} ({UNBOUNDED})"
    return f"{found}, {lasted(Bound(None, total * _MILLISECOND))[4:]} in all" if total > noticed else found


def failover_steps(story: Row) -> list[Step]:
    """Return the steps of a failover that the logs show, from the trigger to the followers."""
    controller, found = story["controller"], []
    is_behind = story.get("is_behind", False)
    is_later = _is_later(story["last_logged"], story["controller_since"])
    wrote_on = not story["partitions"] and is_later and not is_behind
    by = ", by a clock that is behind" if is_behind else ""
    if story["last_logged"] is not None and not wrote_on:
        found.append(Step(story["last_logged"], _last_logged(story)))
    if story["controller_since"] is not None:
        found.append(
            Step(
                story["controller_since"],
                f"broker {controller} became controller, epoch {story['controller_epoch']}{by}",
                is_behind,
            )
        )
    if wrote_on:
        found.append(Step(story["last_logged"], f"{_last_logged(story)}: it wrote on, or its clock is ahead"))
    if story["partitions"]:
        partitions = count(story["partitions"], "partition")
        found.append(Step(story["noticed"], f"the controller noticed: {partitions} had no leader"))
    if story["elected"] is not None:
        to = f"broker{'' if len(story['leaders']) == 1 else 's'} {listed(story['leaders'])}"
        moved = f"{count(story['moved'], 'partition')} moved to {to}{by}"
        found.append(Step(story["elected"], moved, is_behind))
    if story["sent"] is not None:
        found.append(Step(story["sent"], "the first LeaderAndIsr was sent"))
    found.extend(_taken_over(story))
    if story["waited"]:
        waited = f"{count(story['waited'], 'partition')} waited for broker {story['broker']} to come back{by}"
        is_apart = is_behind or story["broker"] in story.get("apart", ())
        found.append(Step(story["returned"], waited, is_apart))
    if story["stranded"]:
        found.append(Step(None, _stranded(story)))
    return found


def _is_later(one: datetime | None, other: datetime | None) -> bool:
    return one is not None and other is not None and one > other


def _last_logged(story: Row) -> str:
    """Return what the time ``last_logged`` is that of, which need not be a line's."""
    broker = story["broker"]
    if not story["partitions"]:
        return f"the last line of broker {broker} as controller"
    if not story.get("is_silent", True):
        return f"broker {broker} had not left by then"
    return f"the last line of broker {broker} before the controller noticed"


def _taken_over(story: Row) -> list[Step]:
    """Return the last new leader and the last follower, in order of time: they may be of two partitions."""
    led = (
        "the last new leader led" if not story["led_unseen"] else "the last new leader led that a line shows"
    )
    done = (("led", led), ("followed", "the last of their followers followed"))
    apart = story.get("apart", ())
    others = {"led": not set(apart).isdisjoint(story["leaders"]), "followed": bool(apart)}
    found = [
        Step(
            story[name],
            f"{what}{', by a clock that is behind' if story[f'{name}_behind'] else ''}",
            others[name] and not story[f"{name}_behind"],
        )
        for name, what in done
        if story[name] is not None
    ]
    is_in_order = story["led_behind"] or story["followed_behind"] or bool(apart)
    return found if is_in_order else sorted(found)
