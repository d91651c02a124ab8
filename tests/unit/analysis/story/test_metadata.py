"""The story from the records of ``__cluster_metadata`` alone."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from barnabas.analysis.reading.blocks import Origin, read_entries
from barnabas.analysis.reading.files.encodings import DamagedError
from barnabas.analysis.reading.metadata.log import read_log
from barnabas.analysis.story.incidents import incidents
from barnabas.analysis.story.sentences.incidents import details, headline
from barnabas.bench.truth.claims import observed, read
from tests.unit.analysis.reading.metadata.conftest import (
    ID_BYTES,
    TOPIC,
    TOPIC_ID,
    batch,
    change,
    in_order,
    int32s,
    leader_change,
    number,
    partition,
    register,
    registration_change,
    text,
    value,
)
from tests.unit.analysis.reading.metadata.conftest import log as log  # noqa: PLC0414

UNFENCE, FENCE, LEAVE = {"t0": b"\xff"}, {"t0": b"\1"}, {"t1": b"\1"}
WHY = "(whether it stopped or was lost is unknown without its server.log)"
FIRST, SECOND = bytes(range(16)), bytes(range(1, 17))
Log = Callable[..., Path]


def at(second: int, *records: bytes) -> bytes:
    return batch(0, *records, time_ms=second * 1000)


def told(segment: Path, logs: Mapping[str, str] | None = None) -> list[str]:
    rows = read(logs or {})
    with suppress(DamagedError):
        for entries in read_log(segment):
            rows.extend(read_entries(entries, Origin("segment", 0, 1)).rows.to_pylist())
    found = incidents(observed(rows))
    return [each.text for incident in found for each in (headline(incident), *details(incident))]


def born(broker: int, epoch: int, incarnation: bytes = FIRST) -> bytes:
    return register(broker, epoch, incarnation=incarnation)


LED = (TOPIC, partition(1, 1, 2))


def restarted(
    *led: bytes, is_fenced: bool, unfence: bytes | None = None, epoch: int = 1, by: int = 1
) -> bytes:
    """Broker 1 registers again 80 s after its start, without a stop before; it may be fenced in between."""
    unfenced = unfence or registration_change(1, 0, **UNFENCE)
    fence = batch(9, change(t1=number(-1)), registration_change(1, 0, **FENCE), epoch=epoch, time_ms=49_999)
    return in_order(
        batch(0, born(1, 0), born(2, 1), *led, epoch=epoch, time_ms=0)
        + batch(4, unfenced, registration_change(2, 1, **UNFENCE), epoch=epoch, time_ms=3_000)
        + (fence if is_fenced else b"")
        + batch(11, born(1, 80, SECOND), epoch=by, time_ms=80_000)
        + batch(12, registration_change(1, 80, **UNFENCE), epoch=by, time_ms=85_000)
    )


AHEAD = """\
[1970-01-01 00:05:00,100] INFO [BrokerLifecycleManager id=1] Successfully registered broker 1 with broker epoch 0 (kafka.server.BrokerLifecycleManager)
[1970-01-01 00:05:03,100] INFO [KafkaRaftServer nodeId=1] Kafka Server started (kafka.server.KafkaRaftServer)
[1970-01-01 00:06:19,000] INFO [BrokerServer id=1] Transition from SHUTDOWN to STARTING (kafka.server.BrokerServer)
[1970-01-01 00:06:19,500] INFO Recovering 3 logs from /data since no clean shutdown file was found (kafka.log.LogManager)
[1970-01-01 00:06:20,100] INFO [BrokerLifecycleManager id=1] Successfully registered broker 1 with broker epoch 80 (kafka.server.BrokerLifecycleManager)
[1970-01-01 00:06:25,100] INFO [KafkaRaftServer nodeId=1] Kafka Server started (kafka.server.KafkaRaftServer)
"""  # noqa: E501
"""The log of the restarted broker, whose clock is 5 min ahead of the controller's."""


def test_a_broker_epoch_in_two_logs_is_one_start_though_their_clocks_differ(log: Log) -> None:
    records = in_order(
        leader_change(0, 9, 1)
        + batch(1, born(1, 0), born(2, 1), *LED, time_ms=0)
        + batch(5, registration_change(1, 0, **UNFENCE), time_ms=3_000)
        + batch(6, change(t1=number(-1)), registration_change(1, 0, **FENCE), time_ms=49_999)
        + batch(8, born(1, 80, SECOND), time_ms=80_000)
        + batch(9, registration_change(1, 80, **UNFENCE), time_ms=85_000)
    )
    first, *more = told(log(records), {"broker-1/server.log": AHEAD})
    assert first.startswith("Broker 1 was lost at 1970-01-01 00:00:49.999 or before (")
    assert "and was back at 1970-01-01 00:01:25.000;" in first
    assert not [each for each in more if each.startswith("Broker 1 ")]
    clocks, *_ = (each for each in more if each.startswith("Clocks differ: "))
    assert "as it logged each of its registrations 5 min 0 s later or more;" in clocks


def test_a_new_process_of_a_leader_that_did_not_ask_to_stop_proves_a_death_that_was_noticed(log: Log) -> None:
    (headline,) = told(log(restarted(*LED, is_fenced=True)))[:1]
    assert headline.startswith(
        "Broker 1 was lost at 1970-01-01 00:00:49.999 or before (a new process registered, and the one "
        "before had not asked to stop; its process had ended by 1970-01-01 00:01:20.000) and was back at "
        "1970-01-01 00:01:25.000;"
    )


def test_a_new_process_of_a_leader_that_did_not_ask_to_stop_proves_a_death_that_nobody_noticed(
    log: Log,
) -> None:
    (headline,) = told(log(restarted(*LED, is_fenced=False)))[:1]
    assert headline.startswith("Broker 1 died at 1970-01-01 00:01:20.000 or before (a new process registered")


@pytest.mark.parametrize("is_fenced", [True, False])
@pytest.mark.parametrize(
    ("led", "more"),
    [
        ((), {}),
        (LED, {"by": 2}),
        (LED, {"unfence": value(8, 0, number(1) + bytes(8))}),
    ],
    ids=["leads-nothing", "the-controller-changed", "before-3.3"],
)
def test_who_may_have_stopped_without_a_record_did_not_surely_die(
    log: Log, led: tuple[bytes, ...], more: dict[str, Any], *, is_fenced: bool
) -> None:
    (headline,) = told(log(restarted(*led, is_fenced=is_fenced, **more)))[:1]
    # Its leader is lost a record before the fence.
    fenced = "00:00:49.999" if led else "00:00:50.000"
    when = fenced if is_fenced else "00:01:20.000"
    how = f"was lost at 1970-01-01 {when} or before (why is unknown without its server.log)"
    if is_fenced and not led:
        # The stop of a broker that leads nothing is granted at once, and its process ends later.
        how = f"was fenced at 1970-01-01 {when} {WHY}"
    assert headline.startswith(f"Broker 1 {how} and was back at ")


@pytest.mark.parametrize("is_left", [True, False])
def test_a_new_process_after_a_stop_and_the_same_process_again_prove_none(log: Log, *, is_left: bool) -> None:
    left = at(20, registration_change(1, 0, **LEAVE)) + at(22, registration_change(1, 0, **FENCE))
    segment = log(
        in_order(
            at(0, born(1, 0), born(2, 1))
            + at(3, registration_change(1, 0, **UNFENCE), registration_change(2, 1, **UNFENCE))
            + (left if is_left else b"")
            + at(80, born(1, 80, SECOND if is_left else FIRST))
            + at(82, registration_change(1, 80, **UNFENCE))
        )
    )
    found = told(segment)
    assert not any("died" in text for text in found)
    assert [text.partition(" (")[0] for text in found[:1]] == (
        ["Broker 1 was shut down between 1970-01-01 00:00:22.000 and 1970-01-01 00:01:20.000"]
        if is_left
        else []
    )


def stopped_in_order(*, back: bytes = b"") -> bytes:
    """Broker 1, the only one in sync, asks to stop and loses its leadership at once; the grant follows."""
    return in_order(
        at(0, born(1, 0), born(2, 1), TOPIC, partition(1, 1))
        + at(3, registration_change(1, 0, **UNFENCE), registration_change(2, 1, **UNFENCE))
        + batch(0, registration_change(1, 0, **LEAVE), change(t1=number(-1)), time_ms=50_000)
        + batch(0, registration_change(1, 0, **FENCE), time_ms=52_000)
        + back
    )


def test_a_broker_whose_leadership_ends_when_it_asks_to_stop_is_there_until_that_is_granted(log: Log) -> None:
    back = at(80, born(1, 80, SECOND)) + at(85, registration_change(1, 80, **UNFENCE), change(t1=number(1)))
    first, *others = told(log(stopped_in_order(back=back)))
    assert first == (
        "Broker 1 was shut down between 1970-01-01 00:00:52.000 and 1970-01-01 00:01:20.000 (planned: its "
        "controlled shutdown succeeded) and was back at 1970-01-01 00:01:25.000; a-b-0 had no leader for at "
        "least 35.0 s, until it was elected again."
    )
    assert not any("noticed" in text for text in others)


def test_a_broker_whose_leadership_ends_when_it_asks_to_stop_ends_after_the_grant(log: Log) -> None:
    first = told(log(stopped_in_order()))[0]
    assert first.startswith("Broker 1 was shut down after 1970-01-01 00:00:52.000 (planned")


@pytest.mark.parametrize(
    ("granted", "how"),
    [
        # Its session began again with the next controller, and has 9 s.
        (38, "shut down between 1970-01-01 00:00:38.000 and 1970-01-01 00:00:57.000 (planned: its"),
        (45, "stopped at 1970-01-01 00:00:45.000 or before (a shutdown is logged)"),
    ],
)
def test_a_next_controller_whose_clock_is_behind_grants_the_stop_that_the_one_before_was_asked_for(
    log: Log, granted: int, how: str
) -> None:
    records = in_order(
        elected(8, 7, 0)
        + batch(0, born(1, 0), born(2, 1), *LED, epoch=7, time_ms=0)
        + batch(
            0, *(registration_change(each, each - 1, **UNFENCE) for each in (1, 2)), epoch=7, time_ms=3_000
        )
        + batch(
            0, registration_change(1, 0, **LEAVE), change(t0=int32s(2), t1=number(2)), epoch=7, time_ms=50_000
        )
        + elected(9, 8, 36_000)
        + batch(0, registration_change(1, 0, **FENCE), epoch=8, time_ms=granted * 1000)
        + batch(0, born(1, 80, SECOND), epoch=8, time_ms=57_000)
        + batch(0, registration_change(1, 80, **UNFENCE), epoch=8, time_ms=60_000)
    )
    found = [each for each in told(log(records)) if each.startswith("Broker 1 was s")]
    assert len(found) == 1
    assert found[0].startswith(f"Broker 1 was {how}")
    assert " and was back at 1970-01-01 00:01:00.000; " in found[0]


@pytest.mark.parametrize("is_dated", [True, False])
def test_a_snapshot_shows_who_had_no_leader_when_it_was_made(log: Log, *, is_dated: bool) -> None:
    back = batch(300, born(1, 300, SECOND), time_ms=630_000) + batch(
        301, registration_change(1, 300, **UNFENCE), change(t1=number(1)), time_ms=634_000
    )
    segment = log(back, begin=300)
    header = batch(0, struct.pack(">hq", 0, 590_000) + b"\0", control=3) if is_dated else b""
    state = (born(1, 0), TOPIC, partition(-1, 1, epoch=4))
    (segment.parent / f"{300:020}-{1:010}.checkpoint").write_bytes(header + batch(1, *state))
    lost = (
        "Broker 1 was lost at 1970-01-01 00:09:50.000 or before (why is unknown without its server.log) and "
        "was back between 1970-01-01 00:09:50.000 and 1970-01-01 00:10:34.000; a-b-0 had no leader for at "
        "least 44.0 s, until it was elected again."
    )
    unseen = "At 1970-01-01 00:10:34.001 or before a partition lost its leader; no line shows why; a-b-0 had "
    assert told(segment)[0].startswith(lost if is_dated else unseen)


def test_a_process_that_was_fenced_and_unfenced_in_one_epoch_lived(log: Log) -> None:
    segment = log(
        in_order(
            at(0, born(1, 0), born(2, 1))
            + at(3, registration_change(1, 0, **UNFENCE), registration_change(2, 1, **UNFENCE))
            + at(50, registration_change(1, 0, **FENCE))
            + at(60, registration_change(1, 0, **UNFENCE))
        )
    )
    assert told(segment)[0].startswith(
        "Broker 1 was given up by the cluster at 1970-01-01 00:00:50.000 or before,"
    )


UNREGISTER = value(1, 0, number(1) + bytes(8))
BACK_AGAIN = at(80, born(1, 80, SECOND)) + at(85, registration_change(1, 80, **UNFENCE))


@pytest.mark.parametrize(
    ("moved", "cost"),
    [
        (
            change(t0=int32s(2), t1=number(2)),
            "no line shows a partition without a leader.",
        ),
        (
            change(t1=number(-1)),
            (
                "a-b-0 had no leader at 1970-01-01 00:00:50.000 and still has none when the logs end "
                "(1970-01-01 00:01:25.000), as far as they show."
            ),
        ),
    ],
    ids=["another-leads", "nobody-leads"],
)
def test_a_broker_that_is_unregistered_while_it_is_there_is_not_called_lost(
    log: Log, moved: bytes, cost: str
) -> None:
    unfenced = (registration_change(1, 0, **UNFENCE), registration_change(2, 1, **UNFENCE))
    segment = log(
        in_order(
            at(0, born(1, 0), born(2, 1), *LED)
            + at(3, *unfenced)
            + at(50, moved)
            + at(50, UNREGISTER)
            + BACK_AGAIN
        )
    )
    assert told(segment)[0] == (
        "Broker 1 was unregistered at 1970-01-01 00:00:50.000 and was back at 1970-01-01 00:01:25.000; "
        + cost
    )


def test_a_broker_that_was_unregistered_after_its_loss_was_lost(log: Log) -> None:
    unfenced = (registration_change(1, 0, **UNFENCE), registration_change(2, 1, **UNFENCE))
    lost = at(50, change(t0=int32s(2), t1=number(2)), registration_change(1, 0, **FENCE))
    segment = log(
        in_order(
            at(0, born(1, 0), born(2, 1), *LED) + at(3, *unfenced) + lost + at(60, UNREGISTER) + BACK_AGAIN
        )
    )
    assert told(segment)[0].startswith(
        "Broker 1 was lost at 1970-01-01 00:00:50.001 or before (why is unknown without its server.log) and "
        "was back at 1970-01-01 00:01:25.000;"
    )


@pytest.mark.parametrize(
    ("second_fence_ms", "cost"),
    [
        # Each record of these batches is 1 ms later than the one before.
        (49_900, "a-b-0 had no leader for at least 401 ms, until broker 3 was elected."),
        # Broker 2 may have led meanwhile.
        (
            60_000,
            "a-b-0 had no leader 2 times, each for at least 1 ms, until brokers 2 and 3 were elected.",
        ),
    ],
    ids=["whose-session-was-over", "whose-session-may-have-gone-on"],
)
def test_a_broker_that_is_elected_right_before_its_session_times_out_leads_nothing(
    log: Log, second_fence_ms: int, cost: str
) -> None:
    fence_of_1, fence_of_2 = (registration_change(each, each - 1, **FENCE) for each in (1, 2))
    segment = log(
        in_order(
            at(0, born(1, 0), born(2, 1), born(3, 2), TOPIC, partition(1, 1, 2, 3))
            + at(3, *(registration_change(each, each - 1, **UNFENCE) for each in (1, 2, 3)))
            + batch(0, fence_of_1, change(t0=int32s(2, 3), t1=number(2)), time_ms=49_500)
            + batch(0, fence_of_2, change(t0=int32s(3), t1=number(3)), time_ms=second_fence_ms)
            + at(80, born(1, 80, SECOND))
            + at(85, registration_change(1, 80, **UNFENCE))
            + at(86, born(2, 86, SECOND))
            + at(91, registration_change(2, 86, **UNFENCE))
        )
    )
    assert told(segment)[0].endswith(cost)


def fenced_at_once(*after: bytes) -> bytes:
    """Controller 1, in epoch 7, fences all brokers, itself too, in one decision."""
    return in_order(
        elected(1, 7, 0)
        + batch(0, born(1, 0), born(2, 1), born(3, 2), epoch=7, time_ms=0)
        + batch(
            0, *(registration_change(each, each - 1, **UNFENCE) for each in (1, 2, 3)), epoch=7, time_ms=3000
        )
        + batch(
            0, *(registration_change(each, each - 1, **FENCE) for each in (1, 2, 3)), epoch=7, time_ms=50_000
        )
        + b"".join(after)
    )


def test_a_controller_that_fences_itself_and_one_that_is_elected_at_once_may_be_stopping(log: Log) -> None:
    """The records are those of a cluster of which all nodes are stopped at once, as brokers first."""
    first = "Brokers 1, 2 and 3 were fenced at overlapping times, as far as the logs show, broker 1 as the "
    when = "controller, the first at 1970-01-01 00:00:50.000"
    assert told(log(fenced_at_once(elected(2, 8, 50_449))))[:4] == [
        f"{first}{when}; no line shows a partition without a leader.",
        f"Broker 1, the controller, was fenced at 1970-01-01 00:00:50.000 {WHY}, and no line shows a return.",
        f"Broker 2 was fenced at 1970-01-01 00:00:50.001 {WHY}, and no line shows a return.",
        f"Broker 3 was fenced at 1970-01-01 00:00:50.002 {WHY}, and no line shows a return.",
    ]


def test_a_controller_that_is_elected_later_may_be_another_process(log: Log) -> None:
    found = told(log(fenced_at_once(elected(2, 8, 55_000))))
    assert f"Broker 2 was fenced at 1970-01-01 00:00:50.001 {WHY}, and no line shows a return." in found


def elected(controller: int, epoch: int, time_ms: int) -> bytes:
    return batch(0, struct.pack(">hi", 0, controller) + b"\1\1\0", epoch=epoch, control=2, time_ms=time_ms)


def lost_and_elected(between: bytes, after: int) -> bytes:
    """Broker 1 leads alone in sync and is fenced; records follow, then it leads again an hour later."""
    return (
        at(0, born(1, 0), born(2, 1), TOPIC, partition(1, 1), change(t0=int32s(1)))
        + batch(5, registration_change(1, 0, **UNFENCE), registration_change(2, 1, **UNFENCE), time_ms=3_000)
        + batch(7, registration_change(1, 0, **FENCE), change(t1=number(-1)), time_ms=50_000)
        + between
        + batch(after, registration_change(1, 0, **UNFENCE), change(t1=number(1)), time_ms=3_650_000)
    )


def test_records_without_content_between_two_states_prove_that_nothing_else_happened(log: Log) -> None:
    idle = b"".join(batch(9 + each, value(20, 0, b""), time_ms=50_500 + each * 500) for each in range(20))
    found = told(log(lost_and_elected(idle, 29)))
    assert found[0].endswith("a-b-0 had no leader for at least 1 h 0 min, until it was elected again.")


def test_missing_records_between_two_states_are_no_outage(log: Log) -> None:
    found = told(log(lost_and_elected(b"", 900)))
    assert not any("1 h" in text or "returned" in text for text in found)
    assert found[0].startswith("Broker 1 was lost at 1970-01-01 00:00:50.000 or before (why is unknown")
    assert found[0].endswith(
        "a-b-0 had no leader at 1970-01-01 00:00:50.000, and no line shows who led next."
    )


def test_a_log_directory_that_fails_while_others_take_over_is_told(log: Log) -> None:
    failed = batch(0, registration_change(1, 0, t2=b"\1"), change(t0=int32s(2), t1=number(2)), time_ms=50_000)
    segment = log(
        in_order(
            at(0, born(1, 0), born(2, 1), *LED)
            + at(3, registration_change(1, 0, **UNFENCE), registration_change(2, 1, **UNFENCE))
            + failed
        )
    )
    assert told(segment)[0] == (
        f"A log directory of broker 1 had failed at 1970-01-01 00:00:50.000 or before ({TOPIC_ID}); no line "
        "shows a partition without a leader."
    )


def minimum(value_of: int, topic: str | None = "a-b") -> bytes:
    """Return the record of a topic's setting, or of that of all brokers."""
    name, setting = text("min.insync.replicas"), text(str(value_of))
    of = b"\4" + text("") if topic is None else b"\2" + text(topic)
    return value(4, 0, of + name + setting)


@pytest.mark.parametrize(
    ("first", "second", "writes"),
    [
        (3, 2, "acks=all writes were refused for 5 min 0 s"),
        (2, 1, "that refuses no write"),
        (2, 3, "acks=all writes were refused for 4 min 55 s"),
    ],
)
def test_writes_are_refused_by_the_minimum_of_each_time(
    log: Log, first: int, second: int, writes: str
) -> None:
    segment = log(
        in_order(
            at(0, born(1, 0), born(2, 1), born(3, 2), TOPIC, partition(1, 1, 2, 3), minimum(first))
            + at(3, *(registration_change(each, each - 1, **UNFENCE) for each in (1, 2, 3)))
            + at(50, change(t0=int32s(1, 2)))
            + at(350, minimum(second))
            + at(645, change(t0=int32s(1, 2, 3)))
        )
    )
    changed = f"with min.insync.replicas={first} until 1970-01-01 00:05:50.000 and {second} from then on"
    comma = "" if writes.startswith("that") else ","
    (only,) = told(segment)
    assert only == (
        "Replicas fell out of sync at 1970-01-01 00:00:50.000; a-b-0 had 2 of 3 replicas in sync for "
        f"9 min 55 s; {changed}{comma} {writes}."
    )


@pytest.mark.parametrize(("first", "unless"), [(0, ""), (7, ", unless a-b has its own setting")])
def test_a_topic_without_a_record_of_a_setting_has_the_brokers_one(log: Log, first: int, unless: str) -> None:
    born_all = at(0, born(1, 0), born(2, 1), born(3, 2), TOPIC, partition(1, 1, 2, 3), minimum(2, None))
    shrunk = at(50, change(t0=int32s(1)), *(registration_change(each, each - 1, **FENCE) for each in (2, 3)))
    (only,) = told(log(in_order(born_all + shrunk + at(350, change(t0=int32s(1, 2, 3))), first)))[:1]
    whose = "the brokers' " if unless else ""
    assert only.endswith(
        "acks=all writes were refused while fewer than 2 were in sync "
        f"({whose}min.insync.replicas=2){unless}."
    )


@pytest.mark.parametrize(
    ("is_whole", "cost"),
    [
        (True, "a-b-0 had no leader for at least 5 min 0 s, until the topic was deleted."),
        (False, "a-b-0 had no leader at 1970-01-01 00:00:50.000, and no line shows who led next."),
    ],
)
def test_a_partition_has_no_leader_until_its_topic_is_deleted(log: Log, cost: str, *, is_whole: bool) -> None:
    lost = (
        at(0, born(1, 0), born(2, 1), TOPIC, partition(1, 1))
        + batch(4, registration_change(1, 0, **UNFENCE), registration_change(2, 1, **UNFENCE), time_ms=3_000)
        + batch(6, registration_change(1, 0, **FENCE), change(t1=number(-1)), time_ms=50_000)
    )
    deleted = batch(8 if is_whole else 20, value(9, 0, ID_BYTES), time_ms=350_001)
    assert told(log(lost + deleted))[0].endswith(f"; {cost}")


def test_a_cluster_of_which_all_nodes_stop_at_once_was_not_given_up() -> None:
    """Nodes that are brokers and controllers work as controllers a little longer."""
    (segment,) = Path("tests/data/kraft-4.0/__cluster_metadata-0").glob("*.log")
    found = told(segment)
    assert not any("given up" in each or "lived on" in each for each in found), found
    assert sum(WHY in each and "22:53:42." in each for each in found) == 3
