import pytest

from barnabas.bench.cases.broker_failover import outage_s
from barnabas.cluster.model.ids import TopicPartition
from barnabas.workload.history import Acked, Sent

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def test_the_outage_ends_with_the_first_later_write_on_the_last_partition():
    history = [
        Sent(0.9, "p", A, "a0"),
        Acked(1.1, "p", A, "a0", 0),  # on its way when the leader was killed: proves nothing
        Sent(1.2, "p", A, "a1"),
        Sent(1.3, "p", B, "b1"),
        Acked(3.0, "p", A, "a1", 1),
        Acked(3.5, "p", B, "b1", 0),
        Sent(4.0, "p", B, "b2"),
        Acked(4.1, "p", B, "b2", 1),
    ]
    assert outage_s(history, 1.0, [A, B]) == 2.5
    assert outage_s(history, 1.0, [A]) == 2.0


def test_a_partition_that_never_came_back_has_no_figure():
    with pytest.raises(KeyError):
        outage_s([Sent(1.2, "p", A, "a1")], 1.0, [A])
