import time

import pytest

from barnabas.chaos.workload import traffic as module
from barnabas.chaos.workload.traffic import (
    FOR_CONFLUENT_ALONE,
    TOPICS,
    WRITERS,
    ClientFailed,
    Traffic,
    Writer,
)
from barnabas.checker.checker import check
from barnabas.cluster.model.ids import TopicPartition
from barnabas.workload.clients import ConfluentProducer, ConfluentReader
from barnabas.workload.history import History, Joined, Tail


class NoObserver:
    """librdkafka's mock cluster knows no CreateTopics: asked for a topic, it has one of four partitions."""

    def __init__(self, bootstrap):
        pass

    def create_topic(self, name, *, partitions, **_):
        return tuple(TopicPartition(name, number) for number in range(partitions))

    def delete_topic(self, name):
        return True


@pytest.fixture
def traffic(mock_bootstrap, monkeypatch):
    monkeypatch.setattr(module, "Observer", NoObserver)
    monkeypatch.setattr(module, "TOPICS", {"ledger": (4, {}), "packed": (2, {})})
    writers = (
        Writer("one", "ledger", 200.0, ConfluentProducer),
        Writer("two", "packed", 100.0, ConfluentProducer, idempotent=False),
    )
    monkeypatch.setattr(module, "WRITERS", writers)
    monkeypatch.setattr(module, "KafkaPythonReader", ConfluentReader)
    return Traffic(mock_bootstrap, History(time.monotonic))


def test_everything_is_written_read_along_and_read_back(traffic):
    traffic.start()
    traffic.wait_for_progress(30)
    assert traffic.stop() == []
    ops = traffic._history.ops()
    verdict = check(ops)
    assert verdict.problems() == []
    assert verdict.acknowledged == verdict.sent > 0
    assert [(op.process, op.idempotent) for op in ops if isinstance(op, Joined)] == [
        ("one", True),
        ("two", False),
    ]
    tails = {(op.process, op.partition.topic) for op in ops if isinstance(op, Tail)}
    assert {
        ("back-confluent", "ledger"),
        ("back-confluent", "packed"),
        ("back-kafka-python", "ledger"),
    } <= tails
    assert ("back-kafka-python", "packed") not in tails


def test_a_client_that_ended_early_is_a_problem_and_the_rest_is_judged(traffic, monkeypatch):
    traffic.start()
    traffic.wait_for_progress(30)

    def broken():
        raise ValueError("fatal")

    stop = traffic.workloads[0].stop
    monkeypatch.setattr(traffic.workloads[0], "stop", lambda: (stop(), broken()))
    assert traffic.stop() == ["one ended early: ValueError('fatal')"]
    assert any(isinstance(op, Tail) for op in traffic._history.ops())


def test_a_reader_that_stands_still_is_a_problem(traffic, monkeypatch):
    def late(ends, timeout_s):
        assert ends
        raise TimeoutError("tail-confluent at the end was not seen")

    traffic.start()
    traffic.wait_for_progress(30)
    monkeypatch.setattr(traffic._tailers[0], "wait_for", late)
    assert traffic.stop() == ["a reader stays behind: tail-confluent at the end was not seen"]


def test_a_run_that_is_broken_off_leaves_no_thread_at_work(traffic):
    traffic.start()
    traffic.halt()
    assert traffic.stop() == []


def test_who_does_not_get_on_is_named(traffic, monkeypatch):
    def late(timeout_s):
        raise TimeoutError("ledger-0")

    def broken(timeout_s):
        raise ValueError("fatal")

    for raising, kind in ((late, TimeoutError), (broken, ClientFailed)):
        monkeypatch.setattr(traffic.workloads[1], "wait_for_progress", raising)
        monkeypatch.setattr(traffic.workloads[0], "wait_for_progress", lambda timeout_s: None)
        with pytest.raises(kind, match=r"^two"):
            traffic.wait_for_progress(1)


def test_the_writers_of_a_run_write_to_its_topics_each_under_a_name_of_its_own():
    assert {writer.topic for writer in WRITERS} == TOPICS.keys()
    assert len({writer.name for writer in WRITERS}) == len(WRITERS)
    assert TOPICS.keys() >= FOR_CONFLUENT_ALONE
