from __future__ import annotations

import pytest

from broker.core.producer_state import ProducerEntry, ProducerState, encode_snapshot
from broker.disk.producer_snapshots import ProducerSnapshots

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
