"""Future logs on disk: they are there after a start, and a crash at any moment leaves one log."""

from __future__ import annotations

import contextlib
import os
import re
import shutil

import pytest

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.errors import KafkaStorageError, MovedLogError
from barnabas.broker.disk.log.topic_identity import write_identity
from barnabas.broker.disk.names import MOVED_LOG
from barnabas.cluster.model.epochs import LeaderEpoch, Zxid
from barnabas.cluster.model.ids import Offset, TopicIdentity, TopicPartition

TP, OTHER = TopicPartition("events", 0), TopicPartition("events", 1)
EPOCH = LeaderEpoch(0)
CONFIG = LogConfig(segment_bytes=1024, segment_index_bytes=1024)


def everything(log):
    read, offset = b"", log.log_start_offset
    while offset < log.log_end_offset:
        found = log.read(offset, 1 << 20, log.log_end_offset)
        read, offset = read + found.records, found.next_offset
    return read


def begun(dirs, paths, batch, count=20):
    """A log of several segments in the first directory, and its complete copy in the second."""
    log = dirs.get_or_create(TP)
    assert log.directory.parent == paths[0]
    log.identify(TopicIdentity(1, Zxid(7)))
    for _ in range(count):
        log.append_as_leader(batch(3), EPOCH)
    log.raise_log_start(Offset(4))
    dirs.checkpoint_cleaner_offset(TP, Offset(6))
    future = dirs.futures.create(TP, paths[1])
    future.identify(log.topic)
    future.truncate_fully_and_start_at(log.log_start_offset)
    assert future.append_as_follower(everything(log)).last_offset == log.log_end_offset - 1
    future.raise_log_start(log.log_start_offset)
    return log, future


def replaced(dirs):
    dirs.futures.prepare(TP, Offset(9)).result()
    assert not dirs.futures.get(TP).relocation.is_flushing
    return dirs.replace_with_future(TP)


def test_a_future_log_replaces_the_current_one(open_dirs, paths, batch):
    dirs = open_dirs(*paths, config=CONFIG)
    log, future = begun(dirs, paths, batch)
    assert dirs.futures.all == dirs.futures_in(paths[1]) == {TP: future}
    assert re.fullmatch("events-0\\.[0-9a-f]{32}-future", future.directory.name)
    assert dirs.get(TP) is log
    read = everything(log)
    found = log.find(Offset(4), 1 << 20, log.log_end_offset)
    assert replaced(dirs) is future is dirs.get(TP)
    assert future.directory == paths[1] / str(TP)
    assert everything(future) == read
    assert (dirs.futures.all, dirs.cleaner_offset(TP), dirs.high_watermark(TP)) == ({}, 6, 9)
    assert bytes(found.records) in read  # whoever has found records reads on
    with pytest.raises(MovedLogError):
        log.find(Offset(4), 100, Offset(5))
    for _ in range(30):
        future.append_as_leader(batch(3), EPOCH)
    future.truncate_to(Offset(70))
    read = everything(future)
    dirs.close()
    again = open_dirs(*paths, config=CONFIG)
    assert everything(again.get(TP)).endswith(read)
    assert again.get(TP).directory == paths[1] / str(TP)
    assert (again.get(TP).log_start_offset, again.cleaner_offset(TP)) == (4, 6)
    assert again.get(TP).topic == TopicIdentity(1, Zxid(7))


def test_the_former_log_is_deleted_and_the_mark_removed(open_dirs, paths, batch):
    now = [0]
    dirs = open_dirs(*paths, config=CONFIG, clock=lambda: now[0], at_once=True)
    begun(dirs, paths, batch)
    log = replaced(dirs)
    assert (log.directory / MOVED_LOG).exists()
    assert [path.name[-7:] for path in paths[0].iterdir() if path.is_dir()] == ["-delete"]
    now[0] += CONFIG.file_delete_delay_ms
    dirs.purge_deleted()
    assert not [path for path in paths[0].iterdir() if path.is_dir()]
    assert not (log.directory / MOVED_LOG).exists()
    assert not dirs.offline


def test_a_future_log_is_there_after_a_stop_and_after_a_crash(open_dirs, paths, batch):
    # A directory whose thread still seals segments cannot be copied as of one moment.
    dirs = open_dirs(*paths, config=CONFIG, at_once=True)
    _, future = begun(dirs, paths, batch)
    read = everything(future)
    crashed = open_dirs_of_a_copy(open_dirs, paths)
    assert everything(crashed.futures.get(TP)) == read
    dirs.close()
    again = open_dirs(*paths, config=CONFIG)
    assert everything(again.futures.get(TP)) == read
    assert again.futures.get(TP).log_start_offset == 4
    assert again.get(TP).directory.parent == paths[0]


def open_dirs_of_a_copy(open_dirs, paths):
    copies = []
    for path in paths:
        copies.append(path.with_name(path.name + "-copy"))
        shutil.copytree(path, copies[-1])
    return open_dirs(*copies, config=CONFIG)


def test_deletion_takes_the_future_log_along(open_dirs, paths, batch):
    dirs = open_dirs(*paths, config=CONFIG)
    begun(dirs, paths, batch)
    dirs.delete(TP)
    assert (dirs.get(TP), dirs.futures.get(TP)) == (None, None)
    begun(dirs, paths, batch)
    dirs.put_aside(TP, "a test says so")
    assert (dirs.get(TP), dirs.futures.get(TP)) == (None, None)
    assert {path.name.rsplit("-", 1)[1] for path in paths[1].iterdir() if path.is_dir()} == {"delete"}


def test_a_new_log_lies_where_it_was_asked_for(open_dirs, paths):
    dirs = open_dirs(*paths)
    dirs.prefer(OTHER, paths[1])
    dirs.prefer(TP, paths[1])
    assert {dirs.get_or_create(each).directory.parent for each in (TP, OTHER)} == {paths[1]}
    dirs.delete(TP)
    assert dirs.get_or_create(TP).directory.parent == paths[0]  # the wish was granted once


@pytest.mark.parametrize("state", ["complete", "incomplete", "a directory is offline"])
def test_a_start_repeats_the_rename_that_a_loss_of_power_has_undone(open_dirs, paths, batch, state):
    dirs = open_dirs(*paths, config=CONFIG, at_once=True)
    _, future = begun(dirs, paths, batch)
    read, name = everything(future), future.directory.name
    replaced(dirs)
    dirs.close()
    (paths[1] / str(TP)).rename(paths[1] / name)  # its original is renamed to be deleted
    if state == "incomplete":
        (paths[1] / name / MOVED_LOG).unlink()
    more = paths
    if state == "a directory is offline":
        more = (*paths, paths[0].with_name("a file"))
        more[2].touch()
    again = open_dirs(*more, config=CONFIG, at_once=True)
    log, future = again.get(TP), again.futures.get(TP)
    assert [log is None, future is None] == ([False, True] if state == "complete" else [True, False])
    assert everything(log or future) == read
    assert len(again.offline) == len(more) - 2


@pytest.mark.parametrize("case", ["a second one", "beside the log", "of a former topic"])
def test_a_start_deletes_a_future_log_that_no_log_can_continue(open_dirs, paths, batch, case):
    dirs = open_dirs(*paths, config=CONFIG)
    log, future = begun(dirs, paths, batch)
    read, directory = everything(log), future.directory
    dirs.close()
    more = paths
    if case == "a second one":
        more = (*paths, paths[0].with_name("three"))
        shutil.copytree(directory, more[2] / directory.name)
    elif case == "beside the log":
        directory.rename(paths[0] / directory.name)
    else:
        write_identity(directory, TopicIdentity(1, Zxid(5)))
    again = open_dirs(*more, config=CONFIG, at_once=True)
    assert len(again.futures.all) == (1 if case == "a second one" else 0)
    deleted = [each for path in more for each in path.iterdir() if each.name.endswith("-delete")]
    assert len(deleted) == 1
    assert everything(again.get(TP)) == read


def test_a_directory_that_fails_takes_its_future_logs_along(open_dirs, paths, batch):
    dirs = open_dirs(*paths, config=CONFIG)
    begun(dirs, paths, batch)
    assert dirs.fail(paths[1], "pulled out") == ()
    assert dirs.futures.all == dirs.futures_in(paths[1]) == {}
    assert dirs.get(TP) is not None


@pytest.mark.parametrize("at", [1, 2])
def test_a_disk_that_refuses_the_swap_leaves_one_log(open_dirs, paths, batch, monkeypatch, at):
    dirs = open_dirs(*paths, config=CONFIG, at_once=True)
    log, future = begun(dirs, paths, batch)
    read = everything(log)
    dirs.futures.prepare(TP, Offset(9)).result()
    calls, rename = [], os.rename

    def refuse(*arguments):
        calls.append(arguments)
        if len(calls) == at:
            raise OSError(5, "Input/output error")
        rename(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", refuse)
        if at == 1:
            with pytest.raises(KafkaStorageError):
                dirs.replace_with_future(TP)
            assert (dirs.get(TP), list(dirs.offline)) == (log, [paths[1]])
        else:
            assert dirs.replace_with_future(TP) is future is dirs.get(TP)
            assert list(dirs.offline) == [paths[0]]
            assert dirs.fail(paths[0], "known") == ()
    assert everything(dirs.get(TP)) == read
    again = open_dirs_of_a_copy(open_dirs, paths)
    assert everything(again.get(TP)).endswith(read)


class Crash(Exception):
    """The process is gone."""


CALLS = ("open", "pwritev", "pwrite", "ftruncate", "fsync", "rename", "replace", "unlink", "mkdir")


def crash_at(patched, number):
    """From that call on nothing is done any more."""
    calls = 0

    def wrapped(real):
        def call(*arguments, **more):
            nonlocal calls
            calls += 1
            if calls >= number:
                raise Crash
            return real(*arguments, **more)

        return call

    for name in CALLS:
        patched.setattr(os, name, wrapped(getattr(os, name)))


def test_a_crash_at_any_call_of_the_disk_leaves_one_log_with_all_records(
    tmp_path, open_dirs, batch, monkeypatch
):
    at, has_crashed = 1, True
    while has_crashed:
        paths = tmp_path / str(at) / "one", tmp_path / str(at) / "two"
        dirs = open_dirs(*paths, config=CONFIG, at_once=True)
        log = dirs.get_or_create(TP)
        for _ in range(12):
            log.append_as_leader(batch(3), EPOCH)
        log.flush()
        read = everything(log)
        has_crashed = False
        with monkeypatch.context() as patched:
            crash_at(patched, at)
            try:
                future = dirs.futures.create(TP, paths[1])
                future.append_as_follower(read)
                replaced(dirs)
                dirs.purge_deleted()
            except Crash:
                has_crashed = True
        with monkeypatch.context() as patched:  # once more, in the start
            crash_at(patched, at % 11 + 1)
            with contextlib.suppress(Crash):
                open_dirs(*paths, config=CONFIG, at_once=True)
        again = open_dirs(*paths, config=CONFIG, at_once=True)
        assert everything(again.get(TP)) == read, at
        again.delete(TP)
        at += 1
    assert at > 20
