from __future__ import annotations

import contextlib
import errno
import os
import re
import resource
import shutil
from dataclasses import replace

import pytest

from barnabas.broker.core.compaction import log_to_clean
from barnabas.broker.core.log_config import LogConfig
from barnabas.broker.disk import files, topic_identity
from barnabas.broker.disk import log_dir as log_dir_module
from barnabas.broker.disk.cleaning import NewSegment, clean
from barnabas.broker.disk.compaction import CleanerMemory
from barnabas.broker.disk.errors import (
    InconsistentDirectoryError,
    KafkaStorageError,
    LogNameError,
    MissingLogError,
    NoDescriptorError,
)
from barnabas.broker.disk.log_dir import CLEAN_SHUTDOWN
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import Offset, TopicIdentity, TopicPartition
from tests.batches import keyed_batch

EPOCH = LeaderEpoch(0)


def tp(partition):
    return TopicPartition("events", partition)


@pytest.fixture
def paths(tmp_path):
    return tmp_path / "one", tmp_path / "two"


def test_new_logs_go_where_the_fewest_are(open_dirs, paths):
    dirs = open_dirs(*paths)
    for n in range(6):
        assert dirs.get_or_create(tp(n)) is dirs.get_or_create(tp(n))
    assert [len([p for p in path.iterdir() if p.is_dir()]) for path in paths] == [3, 3]
    assert dirs.logs.keys() == {tp(n) for n in range(6)}
    assert dirs.live == paths


def test_every_directory_has_its_own_checkpoints(open_dirs, paths, batch):
    dirs = open_dirs(*paths)
    for n in range(2):
        dirs.get_or_create(tp(n)).append_as_leader(batch(3), EPOCH)
    dirs.checkpoint_high_watermarks({tp(0): 1, tp(1): 2})
    dirs.checkpoint_recovery_points()
    dirs.checkpoint_log_start_offsets()
    dirs.close()
    rows = [(path / "replication-offset-checkpoint").read_text().splitlines()[2:] for path in paths]
    assert rows == [["events 0 1"], ["events 1 2"]]
    assert all((path / CLEAN_SHUTDOWN).exists() for path in paths)
    again = open_dirs(*paths)
    assert [again.high_watermark(tp(n)) for n in range(2)] == [1, 2]


def test_there_is_no_high_watermark_without_a_log(open_dirs, paths):
    with pytest.raises(KeyError, match="no log of events-5"):
        open_dirs(*paths).high_watermark(tp(5))


def test_a_name_that_no_directory_can_have_takes_none_offline(open_dirs, paths):
    dirs = open_dirs(*paths)
    with pytest.raises(LogNameError, match=r"no log of x+-0 can be made: .*too long"):
        dirs.get_or_create(TopicPartition("x" * 300, 0))
    assert (dirs.live, dict(dirs.offline)) == (paths, {})
    assert dirs.get_or_create(tp(0)).log_end_offset == 0


def test_a_disk_that_refuses_a_new_directory_goes_offline(open_dirs, paths, monkeypatch):
    dirs = open_dirs(*paths)

    def refuse(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(KafkaStorageError, match="creating events-0"):
        dirs.get_or_create(tp(0))
    assert dirs.live == paths[1:]


def test_a_log_that_cannot_be_deleted_goes_offline_with_its_directory(open_dirs, paths, monkeypatch):
    dirs = open_dirs(*paths)
    for n in range(2):
        dirs.get_or_create(tp(n))

    def refuse(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(KafkaStorageError, match="deleting events-0"):
        dirs.delete(tp(0))
    assert dirs.live == paths[1:]
    assert dirs.fail(paths[0], "again") == (tp(0),)


def test_one_failed_directory_does_not_take_the_other_with_it(open_dirs, paths, batch, monkeypatch):
    dirs = open_dirs(*paths)
    first, second = dirs.get_or_create(tp(0)), dirs.get_or_create(tp(1))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwritev", full)
    with pytest.raises(KafkaStorageError, match="No space"):
        first.append_as_leader(batch(1), EPOCH)
    monkeypatch.undo()
    assert dirs.fail(paths[0], "heard of it") == (tp(0),)
    assert (dirs.get(tp(0)), dirs.live) == (None, paths[1:])
    assert "No space" in str(dirs.offline[paths[0]])
    assert second.append_as_leader(batch(1), EPOCH).first_offset == 0
    assert dirs.get_or_create(tp(2)).directory.parent == paths[1]
    dirs.close()
    assert [(path / CLEAN_SHUTDOWN).exists() for path in paths] == [False, True]


def test_failing_work_in_passing_takes_the_directory_offline(open_dirs, paths, batch):
    dirs = open_dirs(*paths)
    log = dirs.get_or_create(tp(0))
    shutil.rmtree(paths[0])
    while not dirs.offline:  # the work is done on the directory's thread, and heard of at the next occasion
        dirs.checkpoint_recovery_points()
    assert list(dirs.offline) == [paths[0]]
    with pytest.raises(KafkaStorageError):
        log.append_as_leader(batch(1), EPOCH)


def test_without_any_live_directory_there_are_no_logs(open_dirs, paths):
    dirs = open_dirs(paths[0])
    assert dirs.fail(paths[0], "pulled out") == ()
    with pytest.raises(KafkaStorageError, match="pulled out"):
        dirs.get_or_create(tp(0))


def test_a_directory_that_cannot_be_used_is_offline_from_the_start(open_dirs, paths):
    paths[0].write_text("a file")
    dirs = open_dirs(*paths)
    assert list(dirs.offline) == [paths[0]]
    assert dirs.get_or_create(tp(0)).directory.parent == paths[1]
    with pytest.raises(KafkaStorageError, match="opening"):
        open_dirs(paths[0])


def test_the_same_partition_in_two_directories_is_refused(open_dirs, paths):
    dirs = open_dirs(*paths)
    dirs.get_or_create(tp(0))
    dirs.close()
    shutil.copytree(paths[0] / "events-0", paths[1] / "events-0")
    for path, seconds in zip(paths, (86_400, 10 * 86_400), strict=False):
        for segment in (path / "events-0").glob("*.log"):
            os.utime(segment, (seconds, seconds))
    with pytest.raises(InconsistentDirectoryError, match="events-0 lies both in") as refusal:
        open_dirs(*paths)
    dates = re.findall(r"last written (\d{4}-\d\d-\d\d)", str(refusal.value))
    assert sorted(dates) == ["1970-01-02", "1970-01-11"], "a person must be able to choose"
    assert "Move one log out of log.dirs, usually the one written earlier" in str(refusal.value)


@pytest.mark.parametrize("other", ["logs", "linked", "linked/../logs"])
def test_a_directory_that_is_named_twice_is_refused(open_dirs, tmp_path, other):
    (tmp_path / "logs").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "logs")
    with pytest.raises(InconsistentDirectoryError, match=r"logs and .* of log\.dirs are one directory"):
        open_dirs(tmp_path / "logs", tmp_path / other)
    assert list((tmp_path / "logs").iterdir()) == []


def test_logs_that_are_due_are_flushed(open_dirs, paths, batch):
    now = [1000]
    dirs = open_dirs(*paths, config=replace(LogConfig(), flush_ms=100), clock=lambda: now[0])
    log = dirs.get_or_create(tp(0))
    log.append_as_leader(batch(2), EPOCH)
    dirs.flush_due_logs()
    assert log.recovery_point == 0
    now[0] += 100
    dirs.flush_due_logs()
    log.flush()
    assert log.recovery_point == 2


def test_a_log_that_may_lie_in_a_failed_directory_is_not_made_elsewhere(open_dirs, paths):
    dirs = open_dirs(*paths)
    dirs.get_or_create(tp(0), is_new=False)
    dirs.fail(paths[1], "test")
    with pytest.raises(KafkaStorageError, match="no log of events-1 is made") as refusal:
        dirs.get_or_create(tp(1), is_new=False)
    assert refusal.value.log_dir == paths[1]
    assert dirs.get_or_create(tp(2), is_new=True).directory.parent == paths[0]


def test_a_log_that_must_be_there_is_not_made(open_dirs, paths):
    dirs = open_dirs(*paths)
    with pytest.raises(MissingLogError, match="there is no log of events-0, though the partition is not new"):
        dirs.get_or_create(tp(0), is_new=False, may_begin_empty=False)
    assert (dirs.live, dict(dirs.offline), dirs.logs) == (paths, {}, {})
    log = dirs.get_or_create(tp(0))
    assert dirs.get_or_create(tp(0), is_new=False, may_begin_empty=False) is log


def test_a_stray_is_kept_as_long_as_its_records_would_have_been(open_dirs, paths, batch):
    now = [1_700_000_000_000]
    config = replace(LogConfig(), retention_ms=100_000, file_delete_delay_ms=10)
    dirs = open_dirs(paths[0], config=config, clock=lambda: now[0], at_once=True)
    dirs.get_or_create(tp(0)).append_as_leader(batch(3), EPOCH)
    dirs.checkpoint_high_watermarks({tp(0): 3})
    dirs.put_aside(tp(0), "of the test")
    dirs.put_aside(tp(1), "there is none")
    assert (dirs.get(tp(0)), dirs.get_or_create(tp(0)).log_end_offset, dirs.high_watermark(tp(0))) == (
        None,
        0,
        0,
    )
    dirs.close()
    (stray,) = paths[0].glob("events-0.*-stray")

    now[0] += 100_000 - 1
    dirs = open_dirs(paths[0], config=config, clock=lambda: now[0], at_once=True)
    assert set(dirs.logs) == {tp(0)}
    dirs.purge_deleted()
    assert (stray / f"{0:020d}.log").exists()
    now[0] += 1
    dirs.purge_deleted()
    assert not stray.exists()


def test_a_stray_that_cannot_be_put_aside_goes_offline_with_its_directory(open_dirs, paths, monkeypatch):
    dirs = open_dirs(*paths)
    dirs.get_or_create(tp(0))

    def refuse(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(KafkaStorageError, match="putting events-0 aside"):
        dirs.put_aside(tp(0), "of the test")
    assert dirs.live == paths[1:]


def test_each_directory_in_use_has_a_lock_of_its_own(open_dirs, paths):
    dirs = open_dirs(*paths)
    both = dirs.locks
    assert len(both) == 2
    dirs.fail(paths[0], "broken")
    assert dirs.locks < both
    assert len(dirs.locks) == 1


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
        highest = os.dup(0)
        taken.append(highest)
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


FIRST, SECOND = TopicIdentity(1700, 8), TopicIdentity(1700, 9)


def test_an_identity_belongs_to_the_log_with_which_it_lies(open_dirs, paths, batch):
    dirs = open_dirs(*paths)
    log = dirs.get_or_create(tp(0))
    assert log.topic is None
    log.identify(FIRST)
    log.append_as_leader(batch(1), EPOCH)
    dirs.close()
    dirs = open_dirs(*paths)
    assert dirs.get(tp(0)).topic == FIRST
    # As Kafka does that has the directories meanwhile: another log under that name.
    dirs.close()
    log.directory.rename(log.directory.with_name("events-0." + "a" * 32 + "-delete"))
    log.directory.mkdir()
    dirs = open_dirs(*paths)
    assert dirs.get(tp(0)).topic is None


@pytest.mark.parametrize("give_up", ["delete", "put_aside"])
def test_a_log_that_was_given_up_leaves_no_identity_behind(open_dirs, paths, batch, give_up):
    dirs = open_dirs(*paths)
    dirs.get_or_create(tp(0)).identify(FIRST)
    getattr(dirs, give_up)(*((tp(0), "of the test") if give_up == "put_aside" else (tp(0),)))
    log = dirs.get_or_create(tp(0))
    assert log.topic is None
    log.identify(SECOND)
    log.append_as_leader(batch(1), EPOCH)
    dirs.close()
    assert open_dirs(*paths).get(tp(0)).topic == SECOND


def test_a_disk_that_takes_no_identity_goes_offline(open_dirs, paths, batch, monkeypatch):
    dirs = open_dirs(*paths)
    log = dirs.get_or_create(tp(0))
    log.append_as_leader(batch(1), EPOCH)

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(topic_identity, "write_identity", refuse)
    with pytest.raises(KafkaStorageError, match="identifying events-0"):
        log.identify(FIRST)
    assert dirs.live == paths[1:]


def test_the_cleaner_offset_survives_a_start_and_follows_truncation_and_deletion(tmp_path, open_dirs, batch):
    config = LogConfig(segment_bytes=200, cleanup_policy=frozenset({"compact"}))
    dirs = open_dirs(tmp_path, config=config, at_once=True)
    checkpoint = tmp_path / "cleaner-offset-checkpoint"
    for topic in ("kept", "gone"):
        dirs.get_or_create(TopicPartition(topic, 0))
    dirs.checkpoint_recovery_points()
    assert not checkpoint.exists()
    log = dirs.get(TopicPartition("kept", 0))
    for offset in range(10):
        log.append_as_follower(batch(1, base_offset=offset))
    dirs.checkpoint_cleaner_offset(TopicPartition("kept", 0), Offset(8))
    dirs.checkpoint_cleaner_offset(TopicPartition("gone", 0), Offset(3))
    assert checkpoint.read_text() == "0\n2\ngone 0 3\nkept 0 8\n"
    dirs.delete(TopicPartition("gone", 0))
    dirs.checkpoint_removals()
    dirs.close()
    dirs = open_dirs(tmp_path, config=config, at_once=True)
    assert dirs.cleaner_offset(TopicPartition("kept", 0)) == 8
    assert dirs.cleaner_offset(TopicPartition("gone", 0)) is None
    log = dirs.get(TopicPartition("kept", 0))
    log.truncate_to(Offset(5))
    base_offset = log.compaction.facts(config, Offset(0)).segments[-1].base_offset
    assert dirs.cleaner_offset(TopicPartition("kept", 0)) == base_offset < 8
    assert checkpoint.read_text() == f"0\n1\nkept 0 {base_offset}\n"
    dirs.checkpoint_cleaner_offset(TopicPartition("nowhere", 0), Offset(1))


def test_a_segment_that_was_compacted_stays_open_for_its_readers_for_a_while(tmp_path, open_dirs, batch):
    now = [0]
    config = LogConfig(segment_bytes=200, cleanup_policy=frozenset({"compact"}), file_delete_delay_ms=1000)
    dirs = open_dirs(tmp_path, config=config, at_once=True, clock=lambda: now[0])
    log = dirs.get_or_create(TopicPartition("t", 0))
    for offset in range(6):
        log.append_as_follower(keyed_batch([(b"k", b"v" * 80)], base_offset=offset))
    facts = log.compaction.facts(config, Offset(6))
    job = log.compaction.job(log_to_clean(facts, Offset(0), 0), config, CleanerMemory(24_000, 0.9, 1 << 16))
    first = next(step for step in clean(job) if isinstance(step, NewSegment))
    new = log.compaction.open(first.base_offset, config).result()
    log.compaction.begin_swap(new).result()
    assert log.compaction.end_swap(new, first.replaced, 0, config.file_delete_delay_ms)
    former = facts.segments[0]
    dirs.purge_deleted()
    assert not former.is_closed
    now[0] = 1000
    dirs.purge_deleted()
    assert former.is_closed
    assert not list(log.directory.glob("*.deleted"))


@pytest.mark.parametrize("policy", ["compact", "delete"])
def test_a_follower_that_copied_gaps_knows_of_them_after_a_start(tmp_path, open_dirs, batch, policy):
    """The row says that the log was compacted, and leaves all of it dirty."""
    dirs = open_dirs(tmp_path, config=LogConfig(), at_once=True)
    log = dirs.get_or_create(TopicPartition("t", 0))
    log.append_as_follower(batch(1, base_offset=0) + batch(1, base_offset=7), Offset(7))
    log.append_as_follower(batch(1, base_offset=9), Offset(9))
    assert (tmp_path / "cleaner-offset-checkpoint").read_text() == "0\n1\nt 0 0\n"
    dirs.close()
    config = LogConfig(cleanup_policy=frozenset({policy}))
    dirs = open_dirs(tmp_path, config=config, at_once=True)
    assert dirs.get(TopicPartition("t", 0)).compaction.gaps_end == 10


@pytest.fixture
def lay_twice(open_dirs, paths, batch):
    """Leaves a log of one partition in both directories, each of the topic given for it."""

    def lay(*identities):
        for path, identity in zip(paths, identities, strict=True):
            dirs = open_dirs(path)
            log = dirs.get_or_create(tp(0))
            log.append_as_leader(batch(1), EPOCH)
            if identity is not None:
                log.identify(identity)
            dirs.close()

    return lay


@pytest.mark.parametrize("former", [0, 1])
def test_of_a_log_in_two_directories_that_of_the_deleted_topic_is_a_stray(
    open_dirs, paths, lay_twice, former
):
    """A directory was offline while its topic was deleted and created again: the broker did not start."""
    lay_twice(*((FIRST, SECOND) if former == 0 else (SECOND, FIRST)))
    dirs = open_dirs(*paths)
    assert (dirs.get(tp(0)).topic, dirs.get(tp(0)).directory.parent) == (SECOND, paths[1 - former])
    assert [len(list(path.glob("events-0.*-stray"))) for path in paths] == [1 - former, former]


@pytest.mark.parametrize("other", [FIRST, None, TopicIdentity(1800, 9)])
def test_a_log_in_two_directories_of_one_topic_is_for_a_person_to_choose(open_dirs, paths, lay_twice, other):
    lay_twice(FIRST, other)
    with pytest.raises(InconsistentDirectoryError, match="events-0 lies both in"):
        open_dirs(*paths)
    assert all((path / "events-0").is_dir() for path in paths)


def test_a_directory_that_keeps_a_stray_log_is_offline(open_dirs, paths, lay_twice, monkeypatch):
    lay_twice(FIRST, SECOND)

    def refuse(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(log_dir_module, "rename", refuse)
    assert open_dirs(*paths).live == paths[1:]
