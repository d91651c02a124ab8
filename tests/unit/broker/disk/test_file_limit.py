"""Too many open files: no fault of a disk, and descriptors that are kept back."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from pathlib import Path

import pytest

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk import files
from barnabas.broker.disk.errors import (
    NoDescriptorError,
)
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import TopicPartition

EPOCH = LeaderEpoch(0)


def tp(partition):
    return TopicPartition("events", partition)


class Refusing:
    """Stands for `os.open`: from now on the system says that too many files are open."""

    def __init__(self, monkeypatch, number):
        self.is_refusing = True
        real = os.open

        def refuse(path, flags, mode=0o777, **more):
            if self.is_refusing:
                raise OSError(number, os.strerror(number))
            return real(path, flags, mode, **more)

        monkeypatch.setattr(files.os, "open", refuse)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_too_many_open_files_are_no_fault_of_a_disk(open_dirs, paths, batch, monkeypatch, number):
    dirs = open_dirs(*paths, config=LogConfig(segment_bytes=100))
    log = dirs.get_or_create(tp(0))
    log.append_as_leader(batch(3), EPOCH)
    refusing = Refusing(monkeypatch, number)
    with pytest.raises(NoDescriptorError):
        dirs.get_or_create(tp(1))
    with pytest.raises(NoDescriptorError):
        log.append_as_leader(batch(3), EPOCH)  # which needs a new segment
    dirs.checkpoint_recovery_points()
    dirs.flush_due_logs()
    log.begin_flush()
    with pytest.raises(NoDescriptorError):
        log.flush()
    for _ in range(3):
        dirs.checkpoint_high_watermarks({tp(0): 1})
    assert dirs.offline == {}
    refusing.is_refusing = False
    assert log.append_as_leader(batch(3), EPOCH).first_offset == 3
    log.flush()
    dirs.get_or_create(tp(1)).append_as_leader(batch(1), EPOCH)
    dirs.close()
    assert dirs.offline == {}
    again = open_dirs(*paths, config=LogConfig(segment_bytes=100))
    assert {name: log.log_end_offset for name, log in again.logs.items()} == {tp(0): 6, tp(1): 1}


def test_descriptors_that_are_kept_back_serve_the_logs_when_there_are_no_others(
    open_dirs, paths, batch, monkeypatch
):
    dirs = open_dirs(*paths, config=LogConfig(segment_bytes=100))
    log = dirs.get_or_create(tp(0))
    files.keep_spare_descriptors(8)
    taken = []
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        # What earlier tests left open may be closed at any time, so a free number is no upper bound.
        highest = max(int(each.name) for each in Path("/proc/self/fd").iterdir())
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, before[1]))
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.dup(0))
        for _ in range(4):
            log.append_as_leader(batch(3), EPOCH)
        assert log.segment_count == 4
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for each in taken:
            os.close(each)
        files.keep_spare_descriptors(0)


def test_segments_get_no_descriptor_that_is_kept_for_others(open_dirs, paths, batch):
    dirs = open_dirs(*paths, config=LogConfig(segment_bytes=100))
    log = dirs.get_or_create(tp(0))
    log.append_as_leader(batch(3), EPOCH)
    files.keep_spare_descriptors(0, 0)  # all descriptors are for others
    try:
        for _ in range(2):
            with pytest.raises(NoDescriptorError, match="raise `ulimit -n`"):
                log.append_as_leader(batch(3), EPOCH)
            with pytest.raises(NoDescriptorError):
                dirs.get_or_create(tp(1))
        assert (dirs.offline, log.segment_count) == ({}, 1)
        dirs.checkpoint_high_watermarks({tp(0): 1})  # whose file is closed at once
    finally:
        files.keep_spare_descriptors(0)
    assert log.append_as_leader(batch(3), EPOCH).first_offset == 3
    assert dirs.get_or_create(tp(1)).log_end_offset == 0
