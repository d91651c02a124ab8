import time

from confluent_kafka import Producer

from barnabas.chaos.checker.commits import went_back
from barnabas.chaos.workload.group_members import GroupMember, fetch_commits
from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.waiting import wait_until
from barnabas.workload.history import Committed, Fetched, History

TP = TopicPartition("grouped", 0)


def test_what_is_read_is_committed_and_fetched(mock_bootstrap):
    history = History(time.monotonic)
    producer = Producer({"bootstrap.servers": mock_bootstrap, "log_level": 2})
    for number in range(10):
        producer.produce(TP.topic, str(number), partition=TP.partition)
    assert producer.flush(30) == 0
    member = GroupMember(mock_bootstrap, [TP.topic], history, "member-0")
    member.start()
    wait_until(lambda: any(isinstance(op, Committed) and op.offset == 10 for op in history.ops()), "commits")
    member.stop()
    fetch_commits(mock_bootstrap, [TP], history, 30)
    *_, last = history.ops()
    assert isinstance(last, Fetched)
    assert (last.partition, last.offset) == (TP, 10)
    assert went_back(history.ops()) == []
