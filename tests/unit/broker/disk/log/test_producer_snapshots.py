from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.producer_state import (
    EXPIRATION_MS,
    ProducerSnapshot,
    ProducerState,
    decode_snapshot,
)
from barnabas.broker.core.records.record_batch import BatchHeader
from barnabas.broker.disk.log.producer_snapshots import ProducerSnapshots
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import Offset, TopicPartition

KNOWN = ProducerState()
KNOWN.update(BatchHeader(0, 100, 0, 2, 0, 0, 0, 1000, 1000, 5, 1, 0, 1))
CONTENT = KNOWN.snapshot().encode()


@pytest.fixture
def snapshots(tmp_path):
    found = ProducerSnapshots(tmp_path)
    for offset in (10, 20, 30):
        found.write(offset, CONTENT)
    return found


def test_the_newest_within_the_bounds(snapshots):
    assert snapshots.offsets == [10, 20, 30]
    assert snapshots.newest(at_most=29, at_least=0)[0] == 20
    assert snapshots.newest(at_most=30, at_least=0)[1].get(5).epoch == 1
    offset, state = snapshots.newest(at_most=9, at_least=3)
    assert (offset, len(state)) == (3, 0)
    assert snapshots.newest(at_most=40, at_least=31)[0] == 31


def test_a_damaged_one_is_unlinked_and_the_one_before_taken(snapshots, tmp_path):
    (tmp_path / "00000000000000000030.snapshot").write_bytes(CONTENT[:-1])
    assert snapshots.newest(at_most=99, at_least=0)[0] == 20
    assert snapshots.offsets == [10, 20]


def test_removal(snapshots):
    snapshots.remove_above(20)
    assert snapshots.offsets == [10, 20]


def test_strays_go_save_the_newest_beyond_the_last_segment(snapshots):
    snapshots.write(40, CONTENT)
    snapshots.remove_strays([10, 25])
    assert snapshots.offsets == [10, 40]
    snapshots.remove_strays([10, 50])
    assert snapshots.offsets == [10]


BASE_TIME = 1_700_000_000_000
EPOCH = LeaderEpoch(0)
SMALL = LogConfig(segment_bytes=400, index_interval_bytes=100)


def append(log, batch, number):
    return log.append_as_leader(batch(2, producer=(9, 0, 2 * number)), EPOCH)


def test_a_roll_encodes_the_producers_of_that_moment_on_the_directorys_thread(
    open_dirs, tmp_path, batch, monkeypatch
):
    """60,000 producers took 140 ms of the event loop at each roll."""
    threads, encode = [], ProducerSnapshot.encode

    def encode_noting_the_thread(snapshot):
        threads.append(threading.current_thread())
        return encode(snapshot)

    monkeypatch.setattr(ProducerSnapshot, "encode", encode_noting_the_thread)
    log = open_dirs(tmp_path).get_or_create(TopicPartition("events", 0))
    append(log, batch, 0)
    log.seal_active()
    append(log, batch, 1)
    log.flush()
    assert threads
    assert threading.current_thread() not in threads
    assert decode_snapshot((log.directory / f"{2:020}.snapshot").read_bytes()).get(9).last_sequence == 1


def test_idle_producers_of_a_snapshot_are_not_known_again_and_those_behind_it_are(logs, batch):
    log = logs.open(SMALL)
    log.append_as_leader(batch(1, producer=(7, 0, 0)), EPOCH)
    while not list(log.directory.glob("*.snapshot")):
        log.append_as_leader(batch(1), EPOCH)
    for producer in (8, 9):
        log.append_as_leader(batch(1, producer=(producer, 0, 0)), EPOCH)
    logs.now_ms += EXPIRATION_MS
    log.truncate_to(Offset(log.log_end_offset - 1))
    assert known(log) == {8}
    list(log.expire_producers())
    assert known(log) == set()


def test_producers_expire_by_the_timestamps_of_what_they_wrote(logs, batch):
    log = logs.open(LogConfig())
    for producer, time in ((1, BASE_TIME), (2, BASE_TIME + 1), (3, BASE_TIME - EXPIRATION_MS)):
        log.append_as_leader(batch(1, producer=(producer, 0, 0), timestamps=[time]), EPOCH)
    list(log.expire_producers())
    assert known(log) == {1, 2}
    logs.now_ms = BASE_TIME + EXPIRATION_MS
    list(log.expire_producers())
    assert known(log) == {2}
    # One that was forgotten may go on at any sequence.
    assert log.append_as_leader(batch(1, producer=(1, 0, 4711)), EPOCH).first_offset == 3


def known(log):
    return {entry.producer_id for entry in log._files.producers}


def content(state):
    return {
        entry.producer_id: (entry.epoch, tuple(entry.batches), entry.last_timestamp, entry.last_sequence)
        for entry in state
    }


class SnapshotAndTailMachine(RuleBasedStateMachine):
    """A log whose owner writes, truncates, stops and crashes; its twin reads all of it from the start."""

    def __init__(self, logs_in, batch):
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.logs, self.batch = logs_in(Path(self.directory.name)), batch
        self.log = self.logs.open(SMALL)
        self.time = BASE_TIME

    def teardown(self):
        for log in self.logs.opened:
            log.abandon()
        self.directory.cleanup()

    def replayed(self):
        state = ProducerState()
        for segment in self.log._files.segments:
            for _, header in segment.batches_from(0):
                state.update(header)
        return state

    @rule(
        producer=st.integers(1, 3),
        count=st.integers(1, 3),
        new_epoch=st.booleans(),
        repeat=st.integers(1, 4),
    )
    def write(self, producer, count, new_epoch, repeat):
        entry = self.log._files.producers.get(producer)
        epoch = (entry.epoch if entry else 0) + new_epoch
        sequence = 0 if new_epoch or not entry else entry.last_sequence + 1
        for _ in range(repeat):
            self.time += 1
            data = self.batch(
                count, producer=(producer, epoch, sequence), timestamps=[self.time + n for n in range(count)]
            )
            assert not self.log.append_as_leader(data, EPOCH).duplicate
            assert self.log.append_as_leader(data, EPOCH).duplicate
            sequence += count

    @rule(back=st.integers(0, 12))
    def truncate(self, back):
        self.log.truncate_to(Offset(max(0, self.log.log_end_offset - back)))

    @rule()
    def flush(self):
        self.log.flush()

    @rule()
    def stop_and_start(self):
        end = self.log.log_end_offset
        self.log.close()
        self.log = self.logs.open(SMALL, clean=True, recovery_point=end)

    @rule()
    def crash(self):
        self.log = self.logs.reopen_after_crash(SMALL, self.log.recovery_point)

    @rule(lost=st.integers(1, 100))
    def crash_and_lose_bytes(self, lost):
        active = self.log._files.segments.active
        point = self.log.recovery_point
        self.log.abandon()
        if point <= active.base_offset:
            os.truncate(active.path, max(0, active.size - lost))
        self.log = self.logs.open(SMALL, recovery_point=point)

    @rule(damage=st.booleans())
    def crash_without_the_newest_snapshot(self, damage):
        point = self.log.recovery_point
        self.log.abandon()
        for path in sorted((self.logs.directory / "events-0").glob("*.snapshot"))[-1:]:
            if damage:
                path.write_bytes(path.read_bytes()[:-1])
            else:
                path.unlink()
        self.log = self.logs.open(SMALL, recovery_point=point)

    @invariant()
    def what_is_known_is_what_the_whole_log_says(self):
        assert content(self.log._files.producers) == content(self.replayed())


def test_a_snapshot_and_the_tail_behind_it_equal_a_full_replay(logs_in, batch):
    run_state_machine_as_test(
        lambda: SnapshotAndTailMachine(logs_in, batch),
        settings=settings(max_examples=25, stateful_step_count=12),
    )
