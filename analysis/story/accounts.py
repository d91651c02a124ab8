"""The absences of brokers, and the times without a leader because of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.absence import Absence, begin_of
from barnabas.analysis.story.certainty import latest
from barnabas.analysis.story.charges import (
    Charging,
    bounded_notices,
    refined,
    shown_by,
    with_elections,
    with_registrations,
    with_unled,
)
from barnabas.analysis.story.clocks import Clocks, by_one_clock, mixed_lives, outage_by_one_clock
from barnabas.analysis.story.controllers import with_unlisted
from barnabas.analysis.story.directories import failed_directory, with_moves
from barnabas.analysis.story.handovers import handed_over
from barnabas.analysis.story.incident import TOGETHER
from barnabas.analysis.story.later_lists import with_later_lists
from barnabas.analysis.story.led_on import with_led_on
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.offline import is_only_unled, lost_or_stopped
from barnabas.analysis.story.partitions import History, Life, Outage, histories
from barnabas.analysis.story.proven_returns import with_proven_returns
from barnabas.analysis.story.restarts import departed, with_restarts, without_dead_leaders
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.tenures import with_controllers
from barnabas.analysis.story.unnamed_leaders import UnnamedLeaders, as_named
from barnabas.analysis.story.witnesses import absences_by_clocks


@dataclass(frozen=True, slots=True)
class Account:
    """The absences of brokers, and the times without a leader because of each.

    Attributes:
        observed: Everything in the lines, with the moves from log directories that failed.
        stories: The partitions' histories.
        found: The absences, by the latest time at which each began.
        offline: Those of which only replicas that were taken offline are shown.
        charged: The times without a leader by the index of the absence in ``found``.
        free: Those because of no absence.
        mixed: The partitions whose lines are by clocks that differ.
    """

    observed: Observed
    stories: Sequence[History]
    found: Sequence[Absence]
    offline: Sequence[Absence]
    charged: Mapping[int, Sequence[Outage]]
    free: Sequence[Outage]
    mixed: frozenset[Life] = frozenset()


def account_of(observed: Observed, clocks: Clocks) -> Account:
    """Return what lines show, with the times without a leader that clocks that differ prove.

    Args:
        observed: Everything in the lines.
        clocks: The clocks that differ.
    """
    stories: Sequence[History] = histories(observed)
    stops = handed_over(observed)
    observed = with_moves(observed, (outage for story in stories for outage in story.outages), stops)
    shown, offline = _absences(stories, observed, stops)
    found = with_controllers(shown, observed)
    gone = departed(found, observed.of_kind(BrokerKind.BROKER_FENCED))
    mixed = mixed_lives(observed, clocks)
    stories = [
        # Only the order of lines of different brokers proves an outage that no line shows.
        by_one_clock(
            without_dead_leaders(
                story if story.life in mixed else with_led_on(with_restarts(story, gone), gone, observed),
                gone,
            ),
            mixed,
        )
        for story in stories
    ]
    charging, unnamed = Charging(found), UnnamedLeaders(found, observed)
    charged: dict[int, list[Outage]] = {}
    free: list[Outage] = []
    for story in stories:
        jumps = {gap.until for gap in story.gaps}
        named = [each if each.shown in jumps else unnamed.named(each) for each in story.outages]
        indexes = [
            None if _is_of_directory(outage, observed) else charging.charged_to(outage) for outage in named
        ]
        bounded = [
            outage if index is None else as_named(refined(outage, found[index]), shown)
            for index, outage, shown in zip(indexes, named, story.outages, strict=True)
        ]
        for index, outage in zip(indexes, with_unled(bounded), strict=True):
            if index is None:
                free.append(outage)
            else:
                charged.setdefault(index, []).append(outage_by_one_clock(outage, clocks))
    back = with_proven_returns(found, charged, observed)
    return Account(observed, stories, back, offline, charged, free, frozenset(mixed))


def _is_of_directory(outage: Outage, observed: Observed) -> bool:
    """Return whether a partition had no leader because a log directory of that one had failed."""
    begin = latest(outage.begin)
    return (
        outage.leader_before is not None and begin is not None
        and failed_directory(outage.leader_before, begin, observed) is not None
    )  # fmt: skip


def _absences(
    stories: Iterable[History], observed: Observed, stops: Iterable[BrokerLine]
) -> tuple[list[Absence], list[Absence]]:
    """Return the absences of brokers that their lines and the times without a leader show.

    Args:
        stories: The partitions' histories.
        observed: Everything in the lines.
        stops: Stops that no line states.

    Returns:
        Those that are proven, and those of which only replicas that were taken offline are shown.
    """
    lost = [outage for story in stories for outage in story.outages]
    shown = [line for outage in lost for line in shown_by(outage, observed)]
    seen = replace(observed, brokers=(*observed.brokers, *shown, *stops))
    led: dict[int | None, list[datetime]] = {}
    for line in shown:
        led.setdefault(line.subject, []).append(line.time)
    proven: list[Absence] = []
    offline: list[Absence] = []
    found = absences_by_clocks(seen)
    listed, unlisted = with_unlisted(seen, found)
    if unlisted:
        kept = (each for each in found if each.broker not in unlisted)
        again = absences_by_clocks(listed, unlisted)
        found = sorted((*kept, *again), key=lambda each: (begin_of(each), each.broker))
    found = with_later_lists(found, observed)
    bounded = with_elections(bounded_notices(found, lost), observed.states)
    late = {line for outage in lost if outage.is_late for line in outage.begin.lines}
    for each in with_registrations(bounded, observed):
        begin = begin_of(each)
        has_led = any(abs(time - begin) <= TOGETHER for time in led.get(each.broker, ()))
        if each.is_only_offline and not has_led:
            offline.append(each)
        elif is_only_unled(each, late):
            proven.append(replace(lost_or_stopped(each), is_only_unled=True))
        else:
            proven.append(lost_or_stopped(each) if each.may_be_stop and not has_led else each)
    return proven, offline
