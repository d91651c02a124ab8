from __future__ import annotations

from bench.cases.controller_failover import BENCHES, BROKERS, TOPICS, layout


def test_the_layout_spreads_leaders_evenly_over_the_brokers():
    topics = layout(10 * TOPICS)
    assert {len(numbers) for numbers in topics.values()} == {10}
    assignments = [assignment.replicas for numbers in topics.values() for assignment in numbers.values()]
    assert all(sorted(replicas) == list(BROKERS) for replicas in assignments)
    leaders = [replicas[0] for replicas in assignments]
    assert max(map(leaders.count, BROKERS)) - min(map(leaders.count, BROKERS)) <= 1


def test_the_target_grows_with_the_partitions():
    (bench,) = BENCHES
    assert bench.sized({"partitions": 100_000}).target.figure == 5
