"""What is learned from a line: its values' places, and the words between them."""

from __future__ import annotations

import pytest

from analysis.shapes import End, Start, learn


def test_a_shape_has_the_values_and_the_words_between() -> None:
    shape = learn(
        "[Broker id=12] Handling StopReplica request correlationId 3 from controller 1 for 20 partitions"
    )
    assert shape is not None
    assert [part.columns for part in shape.parts] == [
        ("broker",),
        ("correlation_id",),
        ("controller",),
        ("count",),
    ]
    assert [part.before for part in shape.parts] == [
        b"[Broker id=",
        b"] Handling StopReplica request correlationId ",
        b" from controller ",
        b" for ",
    ]
    assert shape.after == b" partitions"
    assert (shape.row["kind"], shape.row["role"]) == ("stop-replica-handling", "broker")
    first = shape.parts[0]
    assert (first.first, first.skipped, first.last, first.spared) == (1, 3, 1, 1)


def test_a_partition_is_told_from_its_topic_by_the_last_digits() -> None:
    shape = learn(
        "[Controller id=1 epoch=3] Changed partition a-b-0 state from OnlinePartition to OfflinePartition"
    )
    assert shape is not None
    topic, partition = shape.parts[2:4]
    assert (topic.end, partition.start, partition.before) == (End.NEXT, Start.BACK, b"-")
    assert topic.read("a-b") == {"topic": "a-b"}
    assert topic.read("a b") is None


def test_values_of_one_word_are_found_letter_by_letter() -> None:
    shape = learn(
        "Controller 0 epoch 4 sending UpdateMetadata request "
        "(Leader:-2,ISR:,LeaderEpoch:0,ControllerEpoch:29) to broker 1 for partition topic55-1"
    )
    assert shape is not None
    leader, isr, epoch, state = shape.parts[2:6]
    assert [part.end for part in (leader, isr, epoch, state)] == [End.SCAN, End.SCAN, End.SCAN, End.WORD]
    # The comma behind the list could be the list's.
    assert (leader.overlap, isr.overlap) == (0, 1)
    assert isr.read("1,2") == {"isr": (1, 2)}


@pytest.mark.parametrize(
    "message", ["[Broker id=1] Danced", "", "[Broker id=1] Completed become-leader tränsition"]
)
def test_what_no_rule_knows_has_no_shape(message: str) -> None:
    assert learn(message) is None
