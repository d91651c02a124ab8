"""Findings: grouped by broker, what needs action now first, and sentences with times and partitions."""

from __future__ import annotations

from tests.unit.analysis.conditions.test_catalogue import found_in

STALE = (
    "[2017-02-09 03:41:2{second},046] INFO Partition [{topic},{number}] on broker 4: Cached zkVersion [0] "
    "not equal to that in zookeeper, skip updating ISR (kafka.cluster.Partition)\n"
)


def test_partitions_of_one_broker_are_one_finding_over_all_files() -> None:
    first = "".join(STALE.format(second=5, topic="readings", number=number) for number in (10, 9, 9))
    then = "".join(STALE.format(second=8, topic="meters", number=number) for number in range(3))
    (found,) = found_in(then, first)
    assert (found.subject, found.lines, found.named) == (4, 6, 5)
    assert found.headline == (
        "Broker 4 acts as leader of 5 partitions with a stale version: its ISR changes are refused."
    )
    assert found.detail == (
        "From 2017-02-09 03:41:25.046 to 03:41:28.046; 6 lines; meters-0, meters-1, meters-2, readings-9 and "
        "1 more."
    )
    assert found.place == ("file:///log-0001", 0, 1)


def test_files_of_unknown_brokers_stay_apart() -> None:
    line = (
        "[2018-07-14 04:38:26,547] ERROR Error while creating ephemeral at /brokers/ids/1, node already "
        "exists and owner '2' does not match current session '3' (kafka.zk.KafkaZkClient$CheckedEphemeral)\n"
    )
    (found,) = found_in(line, line)
    assert (found.subject, found.writer, found.lines) == (1, 1, 2)
