from __future__ import annotations

from concurrent.futures import Executor, Future

import pytest

from barnabas.broker.disk.log import flushing as module
from barnabas.broker.disk.log.flushing import (
    FLUSH_STATS,
    DirectoryNames,
    Flushing,
    sync_epochs,
    sync_segments,
)
from barnabas.broker.disk.log.topic_identity import write_identity
from barnabas.cluster.model.ids import TopicIdentity


class HeldExecutor(Executor):
    def __init__(self):
        self.held = []

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        self.held.append((future, fn))
        return future

    def end(self, error=None):
        future, _ = self.held.pop(0)
        future.set_running_or_notify_cancel()
        future.set_exception(error) if error else future.set_result(None)


@pytest.fixture
def executor():
    return HeldExecutor()


def test_the_recovery_point_follows_what_has_ended(executor):
    flushing = Flushing(executor, 5)
    flushing.begin(list, 10)
    flushing.begin(list, 20)
    assert flushing.recovery_point() == 5
    executor.end()
    assert flushing.recovery_point() == 10
    executor.end()
    flushing.finish()
    assert flushing.recovery_point() == 20


def test_a_failed_flush_is_reported_and_moves_nothing(executor):
    flushing = Flushing(executor, 5)
    flushing.begin(list, 10)
    executor.end(OSError(5, "Input/output error"))
    with pytest.raises(OSError, match="Input/output"):
        flushing.recovery_point()
    assert flushing.recovery_point() == 5


def test_lowering(executor):
    flushing = Flushing(executor, 5)
    assert flushing.lower_to(5) is False
    assert flushing.lower_to(3) is True
    assert flushing.recovery_point() == 3


def test_what_has_not_begun_is_dropped(executor):
    flushing = Flushing(executor, 0)
    flushing.begin(list, 10)
    flushing.drop()
    assert executor.held[0][0].cancelled()
    assert flushing.recovery_point() == 0


def test_a_log_without_epochs_has_none_to_sync(tmp_path):
    sync_epochs(tmp_path)


def test_a_flush_makes_the_topic_of_the_log_durable(monkeypatch, tmp_path):
    files, real = [], module.sync_file

    def sync(path):
        real(path)
        files.append(path.name)

    monkeypatch.setattr(module, "sync_file", sync)
    sync_segments([], tmp_path)
    assert files == []
    write_identity(tmp_path, TopicIdentity(1700, 8))
    sync_segments([], tmp_path)
    assert files == ["topic-identity-checkpoint"]


def test_each_flush_is_timed(monkeypatch, tmp_path):
    times = []
    monkeypatch.setattr(FLUSH_STATS, "on_flushed", times.append)
    sync_segments([], tmp_path)
    assert len(times) == 1
    assert times[0] >= 0


@pytest.fixture
def synced(monkeypatch):
    """The directories whose names were put on the disk."""
    paths = []
    monkeypatch.setattr(module, "sync_directory", paths.append)
    return paths


def test_names_are_synced_once_until_they_change(synced, tmp_path):
    names = DirectoryNames(tmp_path)
    names.sync()
    names.sync()
    assert synced == [tmp_path]
    names.changed()
    names.sync()
    names.sync()
    assert synced == [tmp_path, tmp_path]


def test_a_name_that_is_made_while_others_are_synced_is_not_forgotten(monkeypatch, tmp_path):
    names, synced = DirectoryNames(tmp_path), []

    def sync(path):
        synced.append(path)
        if len(synced) == 1:
            names.changed()

    monkeypatch.setattr(module, "sync_directory", sync)
    names.sync()
    names.sync()
    names.sync()
    assert len(synced) == 2
