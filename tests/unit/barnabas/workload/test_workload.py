import threading
import time

import pytest

from barnabas.checker.checker import check
from barnabas.cluster.model.ids import TopicPartition
from barnabas.workload.clients import ConfluentProducer, ConfluentReader, Delivery
from barnabas.workload.history import Acked, Failed, History, Read, Sent, Tail, Unknown
from barnabas.workload.workload import OUTSTANDING_MAX, Workload, read_back

TPS = tuple(TopicPartition("workload", number) for number in range(3))


class Answering:
    """A producer whose answers the test gives, per partition."""

    def __init__(self, answer):
        self._answer = answer
        self.waiting = []
        self.sent = threading.Semaphore(0)

    def send(self, partition, value, done):
        delivery = self._answer(partition)
        if delivery is None:
            self.waiting.append(done)
        else:
            done(delivery)
        self.sent.release()

    def poll(self):
        pass

    def close(self, timeout_s):
        pass


def history():
    return History(time.monotonic)


def ops(h, kind):
    return [op for op in h.ops() if isinstance(op, kind)]


def test_everything_acknowledged_by_a_working_cluster_is_read_back_once(mock_bootstrap):
    h = history()
    with Workload(ConfluentProducer(mock_bootstrap), TPS, h, rate=3000) as workload:
        workload.wait_for_progress(10)
    read_back(ConfluentReader(mock_bootstrap, TPS), TPS, h, timeout_s=20)
    verdict = check(h.ops())
    assert verdict.problems() == []
    assert verdict.acknowledged == verdict.read == verdict.sent > 0
    assert sum(workload.acknowledged.values()) == verdict.acknowledged
    assert len({op.value for op in ops(h, Sent)}) == verdict.sent


def test_each_outcome_is_noted_as_what_it_proves():
    answers = {
        TPS[0]: Delivery(offset=0),
        TPS[1]: Delivery(error="too large", certain=True),
        TPS[2]: Delivery(error="timed out", certain=False),
    }
    producer, h = Answering(answers.get), history()
    with Workload(producer, TPS, h, rate=1000):
        for _ in range(6):
            assert producer.sent.acquire(timeout=10)
    assert {op.partition for op in ops(h, Acked)} == {TPS[0]}
    assert {op.partition for op in ops(h, Failed)} == {TPS[1]}
    assert {op.partition for op in ops(h, Unknown)} == {TPS[2]}


def test_writes_without_any_outcome_are_unknown_when_the_workload_ends():
    producer, h = Answering(lambda tp: None), history()
    with Workload(producer, TPS[:1], h, rate=1000):
        assert producer.sent.acquire(timeout=10)
    assert [op.value for op in ops(h, Unknown)] == sorted(op.value for op in ops(h, Sent))


def test_who_interrupts_waits_for_no_outcome():
    class Patient(Answering):
        def close(self, timeout_s):
            assert timeout_s < 1

    def interrupted():
        with Workload(Patient(lambda tp: None), TPS, history()):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()


def test_a_partition_that_does_not_answer_holds_up_no_other():
    silent = TPS[0]
    producer, h = Answering(lambda tp: None if tp == silent else Delivery(offset=0)), history()
    with Workload(producer, TPS, h, rate=200_000) as workload:
        for _ in range(3 * OUTSTANDING_MAX + 1_000):
            assert producer.sent.acquire(timeout=10)
        workload.wait_for_progress(10, TPS[1:])
        with pytest.raises(TimeoutError, match=r"workload-0$"):
            workload.wait_for_progress(0.05)
    assert sum(op.partition == silent for op in ops(h, Sent)) == OUTSTANDING_MAX


def test_what_ends_the_writing_early_reaches_the_owner():
    def refuse(tp):
        raise OSError("no route")

    workload = Workload(Answering(refuse), TPS, history(), rate=1000)
    workload.start()
    with pytest.raises(OSError, match="no route"):
        workload.wait_for_progress(10)
    with pytest.raises(OSError, match="no route"):
        workload.stop(1)


class Log:
    """A reader of one partition whose high watermark the test moves."""

    def __init__(self, records, ends):
        self._records = list(enumerate(records))
        self._ends = iter(ends)
        self._end = 0
        self.read = 0
        self.closed = False

    def poll(self):
        ready = self._records[self.read : self._end]
        self.read += len(ready)
        return [(TPS[0], offset, value) for offset, value in ready]

    def position(self, partition):
        return self.read

    def end(self, partition):
        self._end = next(self._ends, self._end)
        return self._end

    def close(self):
        self.closed = True


def promise(h, *values):
    for offset, value in enumerate(values):
        h.add(Sent(0.0, "p", TPS[0], value))
        h.add(Acked(0.5, "p", TPS[0], value, offset))


def test_reading_waits_for_a_new_leader_to_learn_the_high_watermark():
    h = history()
    promise(h, "a", "b", "c")
    log = Log([b"a", b"b", b"c"], ends=[1, 1, 1, 3])
    read_back(log, TPS[:1], h, timeout_s=20)
    assert [op.value for op in ops(h, Read)] == ["a", "b", "c"]
    assert ops(h, Tail)[0].position == ops(h, Tail)[0].end == 3
    assert log.closed


def test_reading_ends_where_acknowledged_records_stay_away():
    h = history()
    promise(h, "a", "b")
    read_back(Log([b"a"], ends=[1]), TPS[:1], h, timeout_s=20, settle_s=0.0)
    assert [write.value for write in check(h.ops()).lost] == ["b"]


def test_reading_ends_at_its_deadline():
    h = history()
    promise(h, "a")
    read_back(Log([], ends=[1]), TPS[:1], h, timeout_s=0.05)
    (tail,) = ops(h, Tail)
    assert (tail.position, tail.end) == (0, 1)
    assert [write.value for write in check(h.ops()).unread] == ["a"]


def test_the_time_that_writes_wait_grows_from_the_first_that_was_not_acknowledged():
    silent = TPS[0]
    producer, h = Answering(lambda tp: None if tp == silent else Delivery(offset=0)), history()
    with Workload(producer, TPS, h, rate=1_000) as workload:
        for _ in range(6):
            assert producer.sent.acquire(timeout=10)
        first = next(op for op in ops(h, Sent) if op.partition == silent)
        before = h.now() - first.time
        waiting = workload.waiting_s()
        assert before <= waiting[silent] <= h.now() - first.time
        assert waiting[TPS[1]] == waiting[TPS[2]] == 0.0
