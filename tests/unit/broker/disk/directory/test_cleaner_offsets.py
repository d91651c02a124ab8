"""The rows of the log cleaner's checkpoint: written for open logs, lowered by truncations, kept for good."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from barnabas.broker.disk.checkpoints import read_offsets
from barnabas.broker.disk.directory.cleaner_offsets import CleanerOffsets
from barnabas.cluster.model.ids import TopicPartition

TP, OTHER = TopicPartition("t", 0), TopicPartition("u", 0)


@pytest.fixture
def offsets(tmp_path):
    return CleanerOffsets(tmp_path, {TP: SimpleNamespace(log_start_offset=4)}, lambda work: work())


@pytest.fixture
def written(tmp_path):
    return lambda: read_offsets(tmp_path / "cleaner-offset-checkpoint")


def test_rows_of_open_logs_are_written(offsets, written):
    offsets.load({TP: 3, OTHER: 5})
    assert (offsets.get(TP), OTHER in offsets) == (3, True)
    offsets.assign(TP, 8)
    assert written() == {TP: 8}
    offsets.forget(TP)
    assert offsets.get(TP) is None
    offsets.write()
    assert written() == {}


def test_a_log_is_kept_as_one_that_is_dirty_from_its_start(offsets, written):
    offsets.keep(TP)
    assert written() == {TP: 4}
    offsets.assign(TP, 9)
    offsets.keep(TP)
    offsets.keep(OTHER)
    assert written() == {TP: 9}
    assert OTHER not in offsets


def test_the_rows_of_logs_that_are_loaded_are_written_at_once_and_together(tmp_path, written):
    logs = {TP: SimpleNamespace(log_start_offset=4), OTHER: SimpleNamespace(log_start_offset=6)}
    offsets = CleanerOffsets(tmp_path, logs, lambda _: pytest.fail("another thread is asked"))
    offsets.load({TP: 3})
    offsets.keep_loaded([TP, OTHER])
    assert written() == {TP: 3, OTHER: 6}
    (tmp_path / "cleaner-offset-checkpoint").unlink()
    offsets.keep_loaded([TP])
    assert list(tmp_path.iterdir()) == []


def test_a_truncation_lowers_a_row_and_makes_none(offsets, written, tmp_path):
    offsets.truncated(TP, 2)
    assert list(tmp_path.iterdir()) == []
    offsets.assign(TP, 7)
    offsets.truncated(TP, 8)
    assert written() == {TP: 7}
    offsets.truncated(TP, 2)
    assert written() == {TP: 2}
