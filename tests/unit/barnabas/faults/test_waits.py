import pytest

from barnabas.faults.history import Acked, Disturbed, Phase, Sent, Unknown
from barnabas.faults.waits import (
    Availability,
    NemesisStall,
    Stall,
    availability,
    by_nemesis,
    disturbances,
    longest,
    waits,
)
from cluster.model.ids import TopicPartition

TP, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


def send(time, value, tp=TP):
    return Sent(time, "p", tp, value)


def ack(time, value, tp=TP):
    return Acked(time, "p", tp, value, None)


def disturbed(time, phase, name="kill-any"):
    return Disturbed(time, name, phase, "")


STALLED = [
    send(0.0, "a"),
    ack(0.5, "a"),
    send(2.0, "b"),
    disturbed(2.5, Phase.STRIKE),
    ack(8.0, "b"),
    disturbed(9.0, Phase.HEAL),
    disturbed(11.0, Phase.RECOVERED),
    send(12.0, "c"),
    send(12.0, "d", OTHER),
    ack(20.0, "c"),
]


def test_every_wait_is_found():
    assert list(waits(STALLED)) == [
        Stall(TP, 0.0, 0.5),
        Stall(TP, 2.0, 8.0),
        Stall(TP, 12.0, 20.0),
        Stall(OTHER, 12.0, 20.0),
    ]


def test_the_longest_of_each_partition():
    assert longest(STALLED) == (Stall(TP, 12.0, 20.0), Stall(OTHER, 12.0, 20.0))


def test_a_wait_ends_where_the_last_write_is_given_up():
    ops = [send(0.0, "a"), send(1.0, "b"), Unknown(3.0, "p", TP, "a", "late"), ack(4.0, "b")]
    assert list(waits(ops)) == [Stall(TP, 0.0, 4.0)]


def test_latency_is_no_outage():
    assert availability(STALLED) == (Availability(TP, 20.0, 14.0), Availability(OTHER, 20.0, 8.0))
    assert availability(STALLED)[0].fraction == pytest.approx(0.3)
    assert availability([send(0.0, "a"), ack(0.9, "a"), send(9.0, "b"), ack(9.0, "b")])[0].fraction == 1.0


def test_a_nemesis_is_told_with_the_longest_wait_it_shares_a_moment_with():
    assert by_nemesis(STALLED) == (NemesisStall("kill-any", 1, Stall(TP, 2.0, 8.0), 2.0),)


def test_of_several_strikes_the_slowest_recovery_counts():
    again = [disturbed(30.0, Phase.STRIKE), disturbed(31.0, Phase.HEAL), disturbed(36.0, Phase.RECOVERED)]
    (row,) = by_nemesis([*STALLED, *again])
    assert (row.strikes, row.recovery_s) == (2, 5.0)


def test_a_nemesis_without_recovery_lasts_to_the_end():
    ops = [*STALLED[:3], disturbed(1.0, Phase.STRIKE), ack(50.0, "b")]
    assert by_nemesis(ops) == (NemesisStall("kill-any", 1, Stall(TP, 2.0, 50.0), None),)
    assert disturbances(ops) == ((1.0, float("inf")),)


def test_a_second_strike_before_the_recovery_belongs_to_the_first():
    ops = [disturbed(1.0, Phase.STRIKE), disturbed(2.0, Phase.STRIKE), disturbed(3.0, Phase.RECOVERED)]
    assert disturbances(ops) == ((1.0, 3.0),)
