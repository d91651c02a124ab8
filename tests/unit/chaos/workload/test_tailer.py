import threading
import time

import pytest

from barnabas.chaos.workload.tailer import Tailer
from barnabas.cluster.model.ids import TopicPartition
from barnabas.workload.history import History, Looked, Read

TP, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


class Records:
    """A reader that gives each record once, and then says so."""

    def __init__(self, *records, error=None):
        self._records = list(records)
        self._error = error
        self.drained = threading.Event()
        self.looked = threading.Semaphore(0)
        self.closed = False

    def poll(self):
        if self._records:
            return [self._records.pop(0)]
        self.drained.set()
        if self._error is not None:
            raise self._error
        return []

    def end(self, partition):
        self.looked.release()
        return 7 if partition == TP else None

    def close(self):
        self.closed = True


def tailer(reader, history, *, looks=False):
    return Tailer(reader, (TP, OTHER), history, process="tail", looks=looks)


def test_what_it_reads_is_noted():
    history, reader = History(time.monotonic), Records((TP, 3, b"a"), (OTHER, 0, b"b"))
    one = tailer(reader, history)
    one.start()
    assert reader.drained.wait(20)
    one.stop()
    assert [(op.partition, op.offset, op.value) for op in history.ops()] == [(TP, 3, "a"), (OTHER, 0, "b")]
    assert {type(op) for op in history.ops()} == {Read}
    assert reader.closed


def test_it_asks_for_ends_in_turn_and_records_the_answers():
    clock = iter(range(100_000))
    history, reader = History(lambda: float(next(clock))), Records()
    one = tailer(reader, history, looks=True)
    one.start()
    for _ in range(4):
        assert reader.looked.acquire(timeout=20)
    one.stop()
    looks = [op for op in history.ops() if isinstance(op, Looked)]
    assert {(op.partition, op.end) for op in looks} == {(TP, 7)}
    assert all(op.asked < op.time for op in looks)


def test_what_ends_it_early_is_raised():
    reader = Records(error=ValueError("bytes expected"))
    one = tailer(reader, History(time.monotonic))
    one.start()
    assert reader.drained.wait(20)
    with pytest.raises(ValueError, match="bytes expected"):
        one.stop()
    assert reader.closed


def test_it_is_waited_for_until_it_has_read_what_it_reads():
    reader = Records((TP, 0, b"a"), (OTHER, 6, b"b"))
    one = tailer(reader, History(time.monotonic))
    one.start()
    one.wait_for({TP: 1, OTHER: 7, TopicPartition("u", 0): 9}, 20)
    with pytest.raises(TimeoutError, match=r"tail at the end was not seen .*'t-0': \(1, 2\)"):
        one.wait_for({TP: 2}, 0)
    one.stop()


def test_nobody_waits_for_what_has_ended():
    one = tailer(Records(error=ValueError("bytes expected")), History(time.monotonic))
    one.start()
    one.wait_for({TP: 2}, 20)
    with pytest.raises(ValueError, match="bytes expected"):
        one.stop()
