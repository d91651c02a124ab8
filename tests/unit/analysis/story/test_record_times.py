"""The story from a metadata log in which times fall where another controller follows."""

from __future__ import annotations

import struct

from barnabas.analysis.story.record_times import tenures_of
from barnabas.bench.truth.claims import observed, read
from tests.unit.analysis.reading.metadata.conftest import (
    batch,
    change,
    in_order,
    int32s,
    number,
    partition,
    registration_change,
)
from tests.unit.analysis.reading.metadata.conftest import log as log  # noqa: PLC0414
from tests.unit.analysis.story.test_metadata import (
    FENCE,
    LEAVE,
    SECOND,
    TOPIC,
    UNFENCE,
    Log,
    born,
    told,
)


def at(second: int, *records: bytes, epoch: int = 1) -> bytes:
    return batch(0, *records, epoch=epoch, time_ms=second * 1000)


def elected(second: int, controller: int, epoch: int) -> bytes:
    record = struct.pack(">hi", 0, controller) + b"\1\1\0"
    return batch(0, record, epoch=epoch, time_ms=second * 1000, control=2)


def started(*isr: int) -> bytes:
    unfenced = (registration_change(1, 1, **UNFENCE), registration_change(2, 2, **UNFENCE))
    return elected(0, 8, 1) + at(1, born(1, 1), born(2, 2), TOPIC, partition(1, *isr)) + at(3, *unfenced)


def test_a_broker_that_a_controller_with_a_late_clock_saw_return_was_lost_once(log: Log) -> None:
    # Controller 8 fences broker 1 at 60 s. Controller 9, whose clock is 20 s behind, follows at 68 s of the
    # former clock; broker 1 registers at 72 s and leads again at 73 s. The outage is 13 s long.
    records = in_order(
        started(1)
        + at(60, change(t1=number(-1)), registration_change(1, 1, **FENCE))
        + elected(48, 9, 2)
        + at(52, born(1, 30, SECOND), epoch=2)
        + at(53, registration_change(1, 30, **UNFENCE), change(t1=number(1)), epoch=2)
    )
    found = told(log(records))
    assert found[0] == (
        "Broker 1 was lost at 1970-01-01 00:01:00.000 or before (why is unknown without its server.log) and "
        "was back at 1970-01-01 00:00:53.000; a-b-0 had no leader for at least 5.0 s, until it was elected "
        "again."
    )
    assert (
        "Clocks differ: that of controller 9 is at least 12.0 s behind controller 8's, as its later records "
        "have earlier times; of a time between records of two such brokers only the least is claimed."
    ) in found
    assert not [text for text in found[1:] if text.startswith("Broker 1 ")]


def test_what_is_of_one_clock_is_as_long_as_its_records_say(log: Log) -> None:
    records = in_order(
        started(1)
        + at(10, change(t1=number(-1)), registration_change(1, 1, **FENCE))
        + at(17, registration_change(1, 1, **UNFENCE), change(t1=number(1)))
        + elected(5, 9, 2)
        + at(100, registration_change(2, 2, **FENCE), epoch=2)
        + at(103, registration_change(2, 2, **UNFENCE), epoch=2)
    )
    first, *more = told(log(records))
    assert "; a-b-0 had no leader for at least 7.0 s, until" in first
    (second,) = (text for text in more if text.startswith("Broker 2 "))
    assert "1970-01-01 00:01:40.000 or before" in second
    assert "was back at 1970-01-01 00:01:43.000;" in second


def test_a_shortage_that_ends_by_another_clock_held_at_least_as_long_as_the_offsets_prove(log: Log) -> None:
    # Broker 2 asks controller 8 to stop at 60 s; controller 9 sees it return 14 s after its own election.
    records = in_order(
        started(1, 2, 3)
        + at(60, registration_change(2, 2, **LEAVE), change(t0=int32s(1, 3)))
        + elected(44, 9, 2)
        + at(46, registration_change(2, 2, **FENCE), epoch=2)
        + at(55, born(2, 30, SECOND), epoch=2)
        + at(58, registration_change(2, 30, **UNFENCE), epoch=2)
        + at(59, change(t0=int32s(1, 2, 3)), epoch=2)
    )
    found = told(log(records))
    assert "and was back at 1970-01-01 00:00:58.000; no line shows a partition without a leader." in found[0]
    (short,) = (text for text in found if text.startswith("Replicas fell out of sync"))
    assert short.startswith(
        "Replicas fell out of sync at 1970-01-01 00:01:00.001; a-b-0 had 2 of 3 replicas in sync for at "
        "least 15.0 s; whether"
    )
    assert len([text for text in found if text.startswith("Broker 2 ")]) == 1


def test_a_file_of_an_unknown_broker_is_no_metadata_log() -> None:
    line = "[2026-03-05 10:00:00,000] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)\n"
    seen = observed(read({"server.log": line}))
    assert tenures_of(seen) == []
