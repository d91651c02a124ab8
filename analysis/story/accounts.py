"""The absences of brokers, and the times without a leader because of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.brokers import absences
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import Bound, Line, earliest, latest, moment
from barnabas.analysis.story.charges import Charging, refined, shown_by
from barnabas.analysis.story.clocks import Clocks, by_one_clock, mixed_lives, outage_by_one_clock
from barnabas.analysis.story.directories import failed_directory, with_moves
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.partitions import History, Outage, histories
from barnabas.analysis.story.restarts import departed, with_led_on, with_restarts
from barnabas.analysis.story.tenures import with_controllers


@dataclass(frozen=True, slots=True)
class Account:
    """The absences of brokers, and the times without a leader because of each.

    Attributes:
        observed: Everything in the lines, with the moves from log directories that failed.
        stories: The partitions' histories.
        found: The absences, by the latest time at which each began.
        charged: The times without a leader by the index of the absence in ``found``.
        free: Those because of no absence.
    """

    observed: Observed
    stories: Sequence[History]
    found: Sequence[Absence]
    charged: Mapping[int, Sequence[Outage]]
    free: Sequence[Outage]


def account_of(observed: Observed, clocks: Clocks) -> Account:
    """Return what lines show, with the times without a leader that clocks that differ prove.

    Args:
        observed: Everything in the lines.
        clocks: The clocks that differ.
    """
    stories: Sequence[History] = histories(observed)
    observed = with_moves(observed, (outage for story in stories for outage in story.outages))
    found = with_controllers(_absences(stories, observed), observed)
    gone = departed(found, observed.of_kind(BrokerKind.BROKER_FENCED))
    mixed = mixed_lives(observed, clocks)
    stories = [
        # Only the order of lines of different brokers proves an outage that no line shows.
        by_one_clock(
            story if story.life in mixed else with_led_on(with_restarts(story, gone), gone, observed), mixed
        )
        for story in stories
    ]
    charging = Charging(found)
    charged: dict[int, list[Outage]] = {}
    free: list[Outage] = []
    for outage in (each for story in stories for each in story.outages):
        index = None if _is_of_directory(outage, observed) else charging.charged_to(outage)
        if index is None:
            free.append(outage)
        else:
            bounded = outage_by_one_clock(refined(outage, found[index]), clocks)
            charged.setdefault(index, []).append(bounded)
    return Account(observed, stories, found, charged, free)


def _is_of_directory(outage: Outage, observed: Observed) -> bool:
    """Return whether a partition had no leader because a log directory of that one had failed."""
    begin = latest(outage.begin)
    return (
        outage.leader_before is not None and begin is not None
        and failed_directory(outage.leader_before, begin, observed) is not None
    )  # fmt: skip


def _absences(stories: Iterable[History], observed: Observed) -> list[Absence]:
    """Return the absences of brokers that their lines and the times without a leader show.

    Args:
        stories: The partitions' histories.
        observed: Everything in the lines.
    """
    lost = [outage for story in stories for outage in story.outages]
    shown = [line for outage in lost for line in shown_by(outage, observed)]
    led: dict[int, list[datetime]] = {}
    for line in shown:
        led.setdefault(line.subject or 0, []).append(line.time)
    found = absences(replace(observed, brokers=(*observed.brokers, *shown)), led)
    # Lines of brokers, and of no controller: a broker that stops gives its leaders up before it ends.
    late = {line for outage in lost if outage.is_late for line in outage.begin.lines}
    return [_lost_or_stopped(each) if _is_only_unled(each, late) else each for each in found]


def _is_only_unled(absence: Absence, late: set[Line]) -> bool:
    """Return whether all that shows an absence is that partitions of the broker had no leader."""
    is_shown = absence.cause is not Cause.UNKNOWN or absence.has_own_log
    return not is_shown and isinstance(absence.gone, Bound) and late.issuperset(absence.gone.lines)


def _lost_or_stopped(absence: Absence) -> Absence:
    why = "the broker was lost before, or stopped after that"
    gone = moment(earliest(absence.gone), None, absence.gone.lines, why)
    return replace(absence, cause=Cause.LOST_OR_STOPPED, gone=gone, is_only_unled=True)
