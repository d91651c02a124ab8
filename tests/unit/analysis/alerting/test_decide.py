"""Which alerts fire: each episode fires once and is resolved once, over any looks and lost POSTs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.analysis.alerting import decide as module
from barnabas.analysis.alerting.decide import (
    HOLD,
    SEVERITY,
    Alert,
    Alerts,
    Status,
    acknowledge,
    begin,
    decide,
    due,
    expire,
    forget_unsent,
)
from barnabas.analysis.story.certainty import Bound, Fact, Instant, Line, Unknown
from barnabas.analysis.story.episodes import AlertKind, Episode

NOON = datetime(2026, 11, 21, 12)  # noqa: DTZ001
LINE = Line("file:///logs/broker-1/state-change.log", 0, 7, "[...] raw")


def at(second: float) -> datetime:
    return NOON + timedelta(seconds=second)


def outage(since: float, until: float | None, subject: str = "orders-3") -> Episode:
    end: Instant = Unknown("no line shows that it ended") if until is None else Bound(None, at(until))
    return Episode(
        AlertKind.NO_LEADER, subject, Bound(None, at(since)), end, lasts=until is None, is_event=False,
        brokers=(1,), topic="orders", partition=3, text="It had no leader.", lines=(LINE,) * 7,
    )  # fmt: skip


def event(kind: AlertKind, second: float, last: float | None = None, subject: str = "epoch 8") -> Episode:
    end = Bound(None, at(second if last is None else last))
    return Episode(
        kind, subject, Bound(None, at(second)), end, lasts=False, is_event=True, brokers=(2,), topic=None,
        partition=None, text="It happened.", lines=(),
    )  # fmt: skip


def told(alerts: Alerts) -> list[tuple[str, str]]:
    return [(alert.id.split(":", 1)[1], status.value) for alert, status in due(alerts)]


def sent(alerts: Alerts) -> Alerts:
    return acknowledge(alerts, {alert.id: status for alert, status in due(alerts)}.items())


def test_every_kind_has_a_severity() -> None:
    assert set(SEVERITY) == set(AlertKind)


def test_the_first_look_raises_what_lasts_and_nothing_of_the_past() -> None:
    past, lasting = outage(0, 9), outage(20, None)
    alerts = begin([past, lasting, event(AlertKind.CONTROLLER_CHANGE, 1)], at(30))
    assert told(alerts) == [("orders-3:2026-11-21T12:00:20.000Z", "firing")]
    # Nor does a later look raise it.
    assert told(decide(alerts, [past, lasting, event(AlertKind.CONTROLLER_CHANGE, 1)], at(31))) == told(
        alerts
    )


def test_an_alert_fires_once_and_is_resolved_once() -> None:
    alerts = begin([], at(0))
    alerts = decide(alerts, [outage(5, None)], at(10))
    (first,) = due(alerts)
    assert first[1] is Status.FIRING
    alerts = sent(alerts)
    # More lines move the begin; that is the same outage.
    alerts = decide(alerts, [outage(4, None)], at(12))
    assert due(alerts) == []
    alerts = decide(alerts, [outage(4, 15)], at(20))
    (second,) = due(alerts)
    assert (second[0].id, second[1]) == (first[0].id, Status.RESOLVED)
    assert second[0].shown["until"] == {
        "certainty": "bound", "at_least": None, "at_most": "2026-11-21T12:00:15.000Z"
    }  # fmt: skip
    alerts = sent(alerts)
    assert due(decide(alerts, [outage(4, 15)], at(22))) == []
    assert due(decide(alerts, [outage(4, 14.5)], at(22))) == []


def test_what_began_and_ended_between_two_looks_is_sent_as_both() -> None:
    alerts = decide(begin([], at(0)), [outage(5, 6), outage(8, None)], at(10))
    assert [status for _, status in told(alerts)] == ["firing", "resolved", "firing"]


def test_one_outage_that_ended_and_another_that_began_are_two() -> None:
    alerts = sent(decide(begin([], at(0)), [outage(5, None)], at(6)))
    alerts = decide(alerts, [outage(5, 7), outage(9, None)], at(10))
    assert told(alerts) == [
        ("orders-3:2026-11-21T12:00:05.000Z", "resolved"), ("orders-3:2026-11-21T12:00:09.000Z", "firing")
    ]  # fmt: skip


def test_clocks_that_move_an_end_before_the_begin_find_the_alert_again() -> None:
    alerts = sent(decide(begin([], at(0)), [outage(5, None)], at(6)))
    assert told(decide(alerts, [outage(3, 4)], at(10))) == [("orders-3:2026-11-21T12:00:05.000Z", "resolved")]


def test_what_the_lines_do_not_show_any_more_is_resolved_as_unknown() -> None:
    alerts = sent(decide(begin([], at(0)), [outage(5, None)], at(6)))
    alerts = decide(alerts, [], at(8))
    ((alert, status),) = due(alerts)
    assert status is Status.RESOLVED
    assert alert.shown["until"]["certainty"] == "unknown"
    assert alert.shown["sentence"] == "orders-3: the lines read since then do not show it any more."
    # If it lasts after all, it is another alert, with an id of its own.
    alerts = decide(sent(alerts), [outage(5, None)], at(9))
    assert told(alerts) == [("orders-3:2026-11-21T12:00:05.000Z:2", "firing")]
    assert due(decide(sent(alerts), [outage(5, None)], at(10))) == []


@pytest.mark.parametrize("kind", list(HOLD))
def test_an_event_is_resolved_after_a_while_without_a_new_sign(kind: AlertKind) -> None:
    alerts = decide(begin([], at(0)), [event(kind, 5)], at(6))
    alerts = sent(alerts)
    nearly = at(6) + HOLD[kind] - timedelta(seconds=1)
    assert due(expire(alerts, nearly)) == []
    assert expire(alerts, nearly) is alerts
    # A new sign, such as a further departure of a flapping broker, lets it go on.
    alerts = decide(alerts, [event(kind, 5, 400)], nearly)
    assert due(expire(alerts, at(6) + HOLD[kind])) == []
    assert told(expire(alerts, nearly + HOLD[kind])) == [("epoch 8:2026-11-21T12:00:05.000Z", "resolved")]


def test_an_event_whose_lines_are_gone_is_resolved_in_its_time() -> None:
    kind = AlertKind.CONTROLLER_CHANGE
    alerts = sent(decide(begin([], at(0)), [event(kind, 5)], at(6)))
    assert due(decide(alerts, [], at(7))) == []
    assert [status for _, status in told(decide(alerts, [], at(6) + HOLD[kind]))] == ["resolved"]


def test_an_alert_is_sent_with_certainty_and_evidence() -> None:
    ((alert, _),) = due(decide(begin([], at(0)), [outage(5, None)], at(6)))
    assert alert.shown == {
        "kind": "PartitionWithoutLeader",
        "severity": "critical",
        "sentence": "It had no leader.",
        "since": {"certainty": "bound", "at_least": None, "at_most": "2026-11-21T12:00:05.000Z"},
        "until": {"certainty": "unknown", "why": "no line shows that it ended"},
        "brokers": [1],
        "topic": "orders",
        "partition": 3,
        "lines": [
            {"source": LINE.source, "block": 0, "line": 7, "place": "broker-1/state-change.log:7",
             "raw": "[...] raw"}
        ] * 5,
        "more_lines": 2,
    }  # fmt: skip


def test_where_nobody_listens_nothing_is_kept_for_later() -> None:
    alerts = forget_unsent(decide(begin([], at(0)), [outage(5, 6), outage(8, None)], at(9)))
    assert [status for _, status in told(alerts)] == ["firing"]


def test_of_too_many_unsent_alerts_the_oldest_that_are_over_are_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_UNSENT", 2)
    found = [outage(0, None), *(outage(10 * n, 10 * n + 1, f"p-{n}") for n in range(4))]
    alerts = decide(begin([], at(0)), found, at(99))
    assert [(name.split(":")[0], status) for name, status in told(alerts)] == [
        ("orders-3", "firing"), ("p-2", "firing"), ("p-2", "resolved"), ("p-3", "firing"), ("p-3", "resolved")
    ]  # fmt: skip
    assert told(decide(alerts, found, at(100))) == told(alerts)


def test_forgotten_alerts_do_not_fire_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PAST", 3)
    found = [outage(10 * n, 10 * n + 1) for n in range(9)]
    alerts = sent(decide(begin([], at(0)), found, at(99)))
    assert (len(alerts.all), alerts.horizon) == (3, at(50))
    found.append(outage(100, None))
    alerts = decide(alerts, found, at(110))
    assert told(alerts) == [("orders-3:2026-11-21T12:01:40.000Z", "firing")]
    # What lasts is never taken for known, however long ago it began.
    alerts = decide(alerts, [*found, outage(1, None, "late-0")], at(111))
    assert told(alerts)[-1] == ("late-0:2026-11-21T12:00:01.000Z", "firing")


def stretches(draw_from: Sequence[int], *, lasts: bool) -> list[tuple[int, int | None]]:
    """Disjoint stretches of time from sorted numbers; the last one may be open."""
    ends = sorted(set(draw_from))
    pairs: list[tuple[int, int | None]] = [
        (one, other) for one, other in zip(ends[::2], ends[1::2], strict=False)
    ]
    if lasts and len(ends) % 2:
        pairs.append((ends[-1], None))
    return pairs


TIMES = st.lists(st.integers(0, 4_000), max_size=14)


@given(
    truth=st.dictionaries(st.sampled_from(["a-0", "b-0", "c-0"]), TIMES, min_size=1),
    looks=st.lists(st.integers(0, 4_000), min_size=1, max_size=12),
    lost=st.sets(st.integers(0, 11)),
)
def test_each_outage_that_lasts_or_begins_later_is_told_once(
    truth: dict[str, list[int]], looks: list[int], lost: set[int]
) -> None:
    """A cluster whose truth is known is looked at from time to time; some POSTs get lost.

    In the end the receiver has been sent every outage that lasted at the first look or began after it: firing
    once, then resolved once if it is over. Times are 10 s apart, as clocks may differ by 2 s.
    """
    looks = sorted(looks)
    outages = {name: stretches(times, lasts=True) for name, times in truth.items()}
    received: list[tuple[str, Status]] = []
    alerts: Alerts | None = None
    for number, look in enumerate([*looks, 4_001]):
        known = [
            outage(10 * since, None if until is None or until > look else 10 * until, name)
            for name, found in outages.items()
            for since, until in found
            if since <= look
        ]
        now = at(10 * look)
        alerts = begin(known, now) if alerts is None else decide(alerts, known, now)
        if number not in lost or look == 4_001:
            received.extend((alert.id, status) for alert, status in due(alerts))
            alerts = sent(alerts)
        assert len({alert.id for alert in alerts.all}) == len(alerts.all)
    wanted = []
    for name, found in outages.items():
        for since, until in found:
            if until is not None and until <= looks[0]:
                continue
            key = f"PartitionWithoutLeader:{name}:{at(10 * since).isoformat(timespec='milliseconds')}Z"
            wanted.extend([(key, Status.FIRING)] + ([(key, Status.RESOLVED)] if until is not None else []))
    assert sorted(received) == sorted(wanted)
    for name in {name for name, _ in received}:
        order = [status for each, status in received if each == name]
        assert order in ([Status.FIRING], [Status.FIRING, Status.RESOLVED])


def slowly_matched(episodes: Sequence[Episode], alerts: Sequence[Alert]) -> float:
    """The least sum of distances over all ways to pair as many overlapping ones as possible."""
    best = (0, 0.0)
    for order in permutations(range(len(episodes)), min(len(alerts), len(episodes))):
        for chosen in permutations(alerts, len(order)):
            pairs = [
                (episodes[index], alert)
                for index, alert in zip(order, chosen, strict=True)
                if module._overlaps(alert, episodes[index], timedelta(0))
            ]
            distance = sum(abs((each.since - alert.since).total_seconds()) for each, alert in pairs)
            best = min(best, (-len(pairs), distance))
    return -best[0]


def alert_of(episode: Episode, shift: float) -> Alert:
    moved = replace(episode, begin=Fact(episode.since + timedelta(seconds=shift)))
    return module._raised(moved, NOON)


@given(
    times=st.lists(st.integers(0, 60), max_size=7), shifts=st.lists(st.floats(-1, 1), min_size=4, max_size=4)
)
def test_an_alert_finds_its_own_episode_however_its_begin_was_refined(
    times: list[int], shifts: Iterable[float]
) -> None:
    episodes = [
        outage(10 * one, None if other is None else 10 * other) for one, other in stretches(times, lasts=True)
    ]
    alerts = [alert_of(each, shift) for each, shift in zip(episodes, shifts, strict=False)]
    matched = module._matched(episodes, alerts)
    assert matched == dict(enumerate(alerts))
    assert len(matched) == slowly_matched(episodes, alerts)
