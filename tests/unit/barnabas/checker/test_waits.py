import pytest

from barnabas.checker.waits import (
    Availability,
    NemesisStall,
    Stall,
    availability,
    by_nemesis,
    disturbances,
    longest,
    waits,
)
from barnabas.cluster.model.ids import TopicPartition
from barnabas.workload.history import Acked, Disturbed, Failed, Fault, Phase, Read, Sent, Unknown

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
    disturbed(2.5, Phase.INJECT),
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


def refused(time, value, tp=TP):
    return Failed(time, "p", tp, value, "refused")


def test_a_partition_that_refuses_every_write_takes_none():
    ops = [send(0.0, "a"), ack(0.5, "a")]
    for second in range(1, 61):
        ops += [send(second, f"b{second}"), refused(second + 0.1, f"b{second}")]
    ops += [send(61.0, "c"), ack(61.5, "c"), send(62.0, "d"), ack(62.5, "d")]
    assert longest(ops) == (Stall(TP, 1.0, 61.5),)
    assert availability(ops)[0].unavailable_s == 60.5


def test_a_wait_that_is_given_up_for_good_ends_there():
    ops = [send(0.0, "a"), refused(5.0, "a"), send(90.0, "z", OTHER), ack(90.5, "z", OTHER)]
    assert longest(ops)[0] == Stall(TP, 0.0, 5.0)


def test_an_acknowledgement_that_comes_late_ends_a_wait_that_was_given_up():
    ops = [send(0.0, "a"), Unknown(5.0, "p", TP, "a", "late"), ack(6.0, "a"), send(50.0, "b"), ack(50.1, "b")]
    assert list(waits(ops)) == [Stall(TP, 0.0, 6.0), Stall(TP, 50.0, 50.1)]


def test_latency_is_no_outage():
    assert availability(STALLED) == (Availability(TP, 20.0, 14.0), Availability(OTHER, 20.0, 8.0))
    assert availability(STALLED)[0].fraction == pytest.approx(0.3)
    assert availability([send(0.0, "a"), ack(0.9, "a"), send(9.0, "b"), ack(9.0, "b")])[0].fraction == 1.0


def test_a_nemesis_is_listed_with_the_longest_wait_that_overlaps_it():
    assert by_nemesis(STALLED) == (NemesisStall("kill-any", 1, Stall(TP, 2.0, 8.0), 2.0),)


def test_of_several_injections_the_slowest_recovery_counts():
    again = [disturbed(30.0, Phase.INJECT), disturbed(31.0, Phase.HEAL), disturbed(36.0, Phase.RECOVERED)]
    (row,) = by_nemesis([*STALLED, *again])
    assert (row.injections, row.recovery_s) == (2, 5.0)


def test_a_nemesis_without_recovery_lasts_to_the_end():
    ops = [*STALLED[:3], disturbed(1.0, Phase.INJECT), ack(50.0, "b")]
    assert by_nemesis(ops) == (NemesisStall("kill-any", 1, Stall(TP, 2.0, 50.0), None),)
    assert disturbances(ops) == ((1.0, float("inf")),)


def test_an_injection_that_missed_does_not_count_and_gets_no_wait():
    missed = [*STALLED[:4], disturbed(2.6, Phase.MISSED), *STALLED[4:]]
    assert by_nemesis(missed) == (NemesisStall("kill-any", 0, None, None),)
    assert disturbances(missed) == disturbances(STALLED)  # something of it may have been done
    again = [disturbed(30.0, Phase.INJECT), disturbed(31.0, Phase.HEAL), disturbed(36.0, Phase.RECOVERED)]
    assert by_nemesis([*missed, *again])[0].injections == 1


def test_a_second_injection_before_the_recovery_belongs_to_the_first():
    ops = [disturbed(1.0, Phase.INJECT), disturbed(2.0, Phase.INJECT), disturbed(3.0, Phase.RECOVERED)]
    assert disturbances(ops) == ((1.0, 3.0),)


def stall(*ops):
    (only,) = longest(ops)
    return only


def test_a_stall_is_the_longest_gap_between_acknowledgements_while_writes_waited():
    assert stall(
        Sent(0.0, "p", TP, "a"),
        Acked(0.5, "p", TP, "a", 0),
        Sent(1.0, "p", TP, "b"),
        Sent(2.0, "p", TP, "c"),
        Fault(2.5, "SIGKILL broker 1"),
        Acked(7.0, "p", TP, "b", 1),
        Acked(7.1, "p", TP, "c", 2),
    ) == Stall(TP, 1.0, 7.0)


def test_time_in_which_nobody_wanted_to_write_is_no_stall():
    ops = (
        Sent(0.0, "p", TP, "a"),
        Acked(0.25, "p", TP, "a", 0),
        Sent(60.0, "p", TP, "b"),
        Acked(60.5, "p", TP, "b", 1),
    )
    assert stall(*ops) == Stall(TP, 60.0, 60.5)
    assert stall(*ops).seconds == 0.5


def test_a_write_never_acknowledged_stalls_to_the_end_of_the_writing():
    last = Sent(9.0, "p", TP, "b")
    assert stall(Sent(1.0, "p", TP, "a"), last, Read(50.0, "r", TP, 0, "a")) == Stall(TP, 1.0, 9.0)


def test_giving_up_on_some_writes_does_not_end_the_stall_of_the_others():
    ops = (
        Sent(0.0, "p", TP, "a"),
        Sent(1.0, "p", TP, "b"),
        Unknown(5.0, "p", TP, "a", "timed out"),
        Acked(8.0, "p", TP, "b", 0),
    )
    assert stall(*ops) == Stall(TP, 0.0, 8.0)


def test_giving_up_on_the_last_write_ends_the_stall():
    assert stall(Sent(0.0, "p", TP, "a"), Unknown(5.0, "p", TP, "a", "timed out")).seconds == 5.0
