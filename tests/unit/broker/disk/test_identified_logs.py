"""Logs with the identity of their topic, and a log in two directories."""

from __future__ import annotations

import os
import re
import shutil
from unittest.mock import Mock

import pytest

from barnabas.broker.disk.directory import log_dir as log_dir_module
from barnabas.broker.disk.errors import (
    InconsistentDirectoryError,
    KafkaStorageError,
)
from barnabas.broker.disk.log import topic_identity
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import TopicIdentity, TopicPartition

EPOCH = LeaderEpoch(0)


def tp(partition):
    return TopicPartition("events", partition)


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
    monkeypatch.setattr(
        topic_identity, "write_identity", Mock(side_effect=OSError(28, "No space left on device"))
    )
    with pytest.raises(KafkaStorageError, match="identifying events-0"):
        log.identify(FIRST)
    assert dirs.live == paths[1:]


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
    monkeypatch.setattr(log_dir_module, "rename", Mock(side_effect=OSError(30, "Read-only file system")))
    assert open_dirs(*paths).live == paths[1:]
