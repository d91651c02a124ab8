from __future__ import annotations

import pytest

from broker.core.log_config import LogConfig
from broker.core.producer_state import ProducerEntry, ProducerState, encode_snapshot
from broker.disk.producer_snapshots import ProducerSnapshots
from cluster.model.epochs import LeaderEpoch
from cluster.model.ids import Offset

CONTENT = encode_snapshot(ProducerState([ProducerEntry(5, 1)]))


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


EPOCH = LeaderEpoch(0)
SMALL = LogConfig(segment_bytes=400, index_interval_bytes=100)


def append(log, batch, number):
    return log.append_as_leader(batch(2, producer=(9, 0, 2 * number)), EPOCH)


def retries_of_the_last_five(log, batch, count):
    return [append(log, batch, number) for number in range(count - 5, count)]


def assert_known_as_duplicates(answers, count):
    assert [(answer.duplicate, answer.first_offset) for answer in answers] == [
        (True, 2 * number) for number in range(count - 5, count)
    ]


def test_the_last_five_batches_are_known_after_a_clean_stop(logs, batch):
    log = logs.open(LogConfig())
    for number in range(5):
        append(log, batch, number)
    log.close()
    again = logs.open(LogConfig(), clean=True, recovery_point=10)
    assert_known_as_duplicates(retries_of_the_last_five(again, batch, 5), 5)


@pytest.mark.parametrize("count", range(5, 12))
def test_the_last_five_batches_are_known_after_a_crash_behind_a_roll(logs, batch, count):
    log = logs.open(SMALL)
    for number in range(count):
        append(log, batch, number)
    log.flush()
    again = logs.open(SMALL, clean=False, recovery_point=0)
    assert_known_as_duplicates(retries_of_the_last_five(again, batch, count), count)


@pytest.mark.parametrize("count", range(6, 12))
def test_the_last_five_batches_are_known_after_a_truncation(logs, batch, count):
    log = logs.open(SMALL)
    for number in range(count):
        append(log, batch, number)
    log.truncate_to(Offset(2 * (count - 1)))
    assert_known_as_duplicates(retries_of_the_last_five(log, batch, count - 1), count - 1)
