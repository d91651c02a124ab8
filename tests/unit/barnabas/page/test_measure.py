"""Throughput and lag from end offsets."""

from barnabas.cluster.model.ids import TopicPartition
from barnabas.page.measure import figures, parse_end_offsets
from barnabas.page.model import ClusterState, PartitionView

A0, B1 = TopicPartition("a", 0), TopicPartition("b", 1)

PAGE = """\
# TYPE kafka_log_Log_LogEndOffset gauge
kafka_log_Log_LogEndOffset{partition="0",topic="a"} 12.0
kafka_log_Log_LogEndOffset{topic="b",partition="1"} 3e3
kafka_log_Log_Size{partition="0",topic="a"} 99.0
"""


def test_end_offsets_are_read_from_a_page_of_metrics():
    assert parse_end_offsets(PAGE) == {A0: 12, B1: 3000}


def test_rates_are_of_leaders_and_lags_of_followers():
    state = ClusterState(partitions={A0: PartitionView((1, 2), 1, (1, 2)), B1: PartitionView((2,), -1, (2,))})
    before = {1: {A0: 100}, 2: {A0: 100, B1: 5}}
    after = {1: {A0: 300}, 2: {A0: 290, B1: 5}}
    assert figures(state, before, after, 2.0) == {
        "rate": 100.0,
        "rates": {"a": 100.0},
        "broker_rates": {"1": 100.0},
        "lags": {"a-0": {"2": 10}},
    }


def test_a_leader_that_was_not_read_before_has_no_rate_yet():
    state = ClusterState(partitions={A0: PartitionView((1,), 1, (1,))})
    told = figures(state, {}, {1: {A0: 300}}, 1.0)
    assert told == {"rate": 0.0, "rates": {"a": 0.0}, "broker_rates": {"1": 0.0}, "lags": {}}
