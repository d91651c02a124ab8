"""The decision which alerts fire and which are resolved, from the earlier alerts and the present episodes.

An alert belongs to one episode. More lines refine an episode's begin and end, so an alert finds its episode
by kind, subject and overlap in time, never by equal times. Each alert fires once, and is resolved once if it
ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby
from typing import Any

from barnabas.analysis.report.incidents import certain, place
from barnabas.analysis.story.certainty import Line, Unknown
from barnabas.analysis.story.episodes import FLAPPING_WINDOW, AlertKind, Episode
from barnabas.analysis.story.observed import CLOCKS

Row = dict[str, Any]


class Severity(StrEnum):
    """The severities of an alert, by urgency."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class Status(StrEnum):
    """The status of an alert, in the words of Alertmanager."""

    FIRING = "firing"
    RESOLVED = "resolved"


SEVERITY: Mapping[AlertKind, Severity] = {
    AlertKind.NO_LEADER: Severity.CRITICAL,
    AlertKind.UNCLEAN_ELECTION: Severity.CRITICAL,
    AlertKind.UNDER_MIN_ISR: Severity.CRITICAL,
    AlertKind.FLAPPING_BROKER: Severity.WARNING,
    AlertKind.CONTROLLER_CHANGE: Severity.INFO,
}
"""The severity of each kind."""

HOLD: Mapping[AlertKind, timedelta] = {
    AlertKind.UNCLEAN_ELECTION: timedelta(minutes=5),
    AlertKind.CONTROLLER_CHANGE: timedelta(minutes=5),
    AlertKind.FLAPPING_BROKER: FLAPPING_WINDOW,
}
"""The time after its last sign for which the alert of an event fires, by the clock of the follower."""

MOST_PAST = 5_000
"""The most finished alerts that are remembered so that they do not fire again; the oldest are forgotten."""

MOST_UNSENT = 1_000
"""The most finished alerts that wait to be sent; beyond it the oldest are given up, as they hold no more."""

_SHOWN_LINES = 5

_LINE_CHARACTERS = 400

_WITHDRAWN = "the lines read since then do not show it any more"


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert, and how much of it the receiver knows.

    Attributes:
        id: Its name, which stays the same from firing to resolved and over restarts.
        kind: What it is about.
        subject: What it concerns.
        since: The latest moment at which the episode began.
        until: The latest moment at which it ended; None while it lasts, or if nothing bounds its end.
        renewed: When the follower last saw a new sign of it, by the follower's clock.
        status: Whether it holds.
        acknowledged: The status that the receiver knows; None for none.
        shown: What the receiver is sent of the episode; empty for one that is not sent any more.
    """

    id: str
    kind: AlertKind
    subject: str
    since: datetime
    until: datetime | None
    renewed: datetime
    status: Status
    acknowledged: Status | None
    shown: Row

    @property
    def is_past(self) -> bool:
        """Return whether it is over and the receiver knows that."""
        return self.status is Status.RESOLVED and self.acknowledged is Status.RESOLVED


@dataclass(frozen=True, slots=True)
class Alerts:
    """All alerts, the oldest first; finished ones too, which keep their episodes from firing again.

    Attributes:
        all: The alerts.
        horizon: The time up to which finished episodes are taken for known, because finished alerts up to it
            were forgotten; None if none was.
    """

    all: tuple[Alert, ...] = ()
    horizon: datetime | None = None


def begin(episodes: Iterable[Episode], now: datetime) -> Alerts:
    """Return the alerts of a first look: lasting conditions fire; past ones and events are only noted."""
    fresh = decide(Alerts(), episodes, now)
    kept = [
        each if each.status is Status.FIRING and each.kind not in HOLD else _noted(each) for each in fresh.all
    ]
    return _bounded(kept, None)


def decide(alerts: Alerts, episodes: Iterable[Episode], now: datetime) -> Alerts:
    """Return the alerts after another look at the logs.

    Args:
        alerts: The alerts before.
        episodes: All that the lines prove now.
        now: The follower's clock.
    """
    after = {each.id: each for each in alerts.all}
    mine: dict[tuple[AlertKind, str], list[Alert]] = {}
    for alert in alerts.all:
        mine.setdefault((alert.kind, alert.subject), []).append(alert)
    fresh: list[Alert] = []
    for key, group in groupby(sorted(episodes, key=_order), key=_key):
        proven = list(group)
        matched = _matched(proven, mine.get(key, []))
        for index, episode in enumerate(proven):
            known = matched.get(index)
            if known is not None:
                after[known.id] = _updated(known, episode, now)
            is_raised = known is not None and (known.status is Status.FIRING or not episode.lasts)
            # A lasting condition is raised however long ago it began, and although an earlier alert of it
            # was resolved.
            if not is_raised and (episode.lasts or not _is_forgotten(episode, alerts.horizon)):
                fresh.append(_raised(episode, now))
        found = {each.id for each in matched.values()}
        mine[key] = [each for each in mine.get(key, []) if each.id not in found]
    for vanished in (each for rest in mine.values() for each in rest):
        if vanished.status is Status.FIRING and vanished.kind not in HOLD:
            after[vanished.id] = _withdrawn(vanished)
    for alert in fresh:
        name = _unused(alert.id, after)
        after[name] = replace(alert, id=name)
    return expire(_bounded(list(after.values()), alerts.horizon), now)


def expire(alerts: Alerts, now: datetime) -> Alerts:
    """Resolve the alerts of events of which there was no new sign for a while."""

    def is_over(alert: Alert) -> bool:
        hold = HOLD.get(alert.kind)
        return alert.status is Status.FIRING and hold is not None and now - alert.renewed >= hold

    if not any(map(is_over, alerts.all)):
        return alerts
    return replace(
        alerts,
        all=tuple(replace(each, status=Status.RESOLVED) if is_over(each) else each for each in alerts.all),
    )


def due(alerts: Alerts) -> list[tuple[Alert, Status]]:
    """Return the alerts that the receiver does not know yet, in the order in which it must get them.

    An alert that was over before the receiver learned of it is sent as firing, then as resolved.
    """
    wanted: list[tuple[Alert, Status]] = []
    for alert in alerts.all:
        if alert.acknowledged is None:
            wanted.append((alert, Status.FIRING))
        if alert.status is Status.RESOLVED and alert.acknowledged is not Status.RESOLVED:
            wanted.append((alert, Status.RESOLVED))
    return wanted


def acknowledge(alerts: Alerts, received: Iterable[tuple[str, Status]]) -> Alerts:
    """Return the alerts after the receiver has taken ``received``, each an id and a status."""
    latest = dict(received)
    known = (
        replace(each, acknowledged=latest[each.id]) if each.id in latest else each for each in alerts.all
    )
    return _bounded([replace(each, shown={}) if each.is_past else each for each in known], alerts.horizon)


def forget_unsent(alerts: Alerts) -> Alerts:
    """Return the alerts that are kept if there is no receiver: those that are over are dropped."""
    return _bounded(
        [_noted(each) if each.status is Status.RESOLVED else each for each in alerts.all], alerts.horizon
    )


def _order(episode: Episode) -> tuple[AlertKind, str, datetime]:
    return episode.kind, episode.subject, episode.since


def _key(item: Episode) -> tuple[AlertKind, str]:
    return item.kind, item.subject


def _matched(episodes: Sequence[Episode], alerts: Sequence[Alert]) -> dict[int, Alert]:
    """Return the alert of each episode (by index) that has one.

    Of the pairs that overlap in time, those that began closest to each other belong together; where clocks
    moved an episode away from its alert, those that nearly overlap.
    """
    taken: dict[int, Alert] = {}
    left = list(alerts)
    for slack in (timedelta(0), CLOCKS):
        pairs = sorted(
            (abs(episode.since - alert.since), alert.status is Status.RESOLVED, index, number)
            for number, alert in enumerate(left)
            for index, episode in enumerate(episodes)
            if index not in taken and _overlaps(alert, episode, slack)
        )
        used: set[int] = set()
        for _, _, index, number in pairs:
            if index not in taken and number not in used:
                taken[index] = left[number]
                used.add(number)
        left = [alert for number, alert in enumerate(left) if number not in used]
    return taken


def _overlaps(alert: Alert, episode: Episode, slack: timedelta) -> bool:
    is_before = episode.until is not None and episode.until + slack < alert.since
    is_after = alert.until is not None and alert.until + slack < episode.since
    return not is_before and not is_after


def _raised(episode: Episode, now: datetime) -> Alert:
    name = f"{episode.kind}:{episode.subject}:{episode.since.isoformat(timespec='milliseconds')}Z"
    holds = episode.lasts or episode.is_event
    return Alert(
        name, episode.kind, episode.subject, episode.since, episode.until, now,
        Status.FIRING if holds else Status.RESOLVED, None, shown(episode),
    )  # fmt: skip


def _updated(alert: Alert, episode: Episode, now: datetime) -> Alert:
    """Return the alert of an episode of which the lines may show more, or its end."""
    until = episode.until if alert.status is Status.FIRING else episode.until or alert.until
    is_new = (alert.since, alert.until) != (episode.since, until)
    over = alert.status is Status.RESOLVED or not (episode.lasts or episode.is_event)
    return replace(
        alert,
        since=episode.since,
        until=until,
        renewed=now if is_new else alert.renewed,
        status=Status.RESOLVED if over else Status.FIRING,
        # A resolved alert is sent in the state in which it was resolved.
        shown=alert.shown if alert.status is Status.RESOLVED else shown(episode),
    )


def _withdrawn(alert: Alert) -> Alert:
    text = f"{alert.subject}: {_WITHDRAWN}."
    shown = alert.shown | {"sentence": text, "until": certain(Unknown(_WITHDRAWN))}
    return replace(alert, until=alert.since, status=Status.RESOLVED, shown=shown)


def _noted(alert: Alert) -> Alert:
    return replace(alert, status=Status.RESOLVED, acknowledged=Status.RESOLVED, shown={})


def _is_forgotten(episode: Episode, horizon: datetime | None) -> bool:
    return horizon is not None and episode.since <= horizon


def _unused(name: str, taken: Mapping[str, Alert]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}:{number}"
    return free


def _bounded(alerts: Sequence[Alert], horizon: datetime | None) -> Alerts:
    """Give up the oldest finished alerts that were never sent, and forget the oldest that were."""
    unsent = [each.id for each in alerts if each.status is Status.RESOLVED and each.acknowledged is None]
    given_up = set(unsent[: max(len(unsent) - MOST_UNSENT, 0)])
    kept = [_noted(each) if each.id in given_up else each for each in alerts]
    past = sorted((each for each in kept if each.is_past), key=lambda each: each.since)
    forgotten = past[: max(len(past) - MOST_PAST, 0)]
    if forgotten:
        last = forgotten[-1].since
        horizon = last if horizon is None else max(last, horizon)
    names = {each.id for each in forgotten}
    return Alerts(tuple(each for each in kept if each.id not in names), horizon)


def shown(episode: Episode) -> Row:
    """Return an episode as plain values: certainty and times as in the report's JSON, in UTC."""
    return {
        "kind": episode.kind.value,
        "severity": SEVERITY[episode.kind].value,
        "sentence": episode.text,
        "since": _timed(certain(episode.begin)),
        "until": _timed(certain(episode.end)),
        "brokers": list(episode.brokers),
        "topic": episode.topic,
        "partition": episode.partition,
        "lines": [_line(each) for each in episode.lines[:_SHOWN_LINES]],
        "more_lines": max(len(episode.lines) - _SHOWN_LINES, 0),
    }


def _timed(row: Row) -> Row:
    return {
        name: f"{value.isoformat(timespec='milliseconds')}Z" if isinstance(value, datetime) else value
        for name, value in row.items()
    }


def _line(line: Line) -> Row:
    return {
        "source": line.source,
        "block": line.block,
        "line": line.number,
        "place": place(line),
        "raw": line.text[:_LINE_CHARACTERS],
    }
