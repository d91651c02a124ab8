"""What a log raises after the disk refused, and what it does when no more files can be opened."""

from __future__ import annotations

import errno
from unittest.mock import Mock

import pytest

from barnabas.broker.disk.errors import ClosedLogError, KafkaStorageError, NoDescriptorError
from barnabas.broker.disk.failure_guard import FailureGuard
from barnabas.cluster.model.ids import TopicPartition


@pytest.fixture
def failures():
    return []


@pytest.fixture
def guard(failures, tmp_path):
    return FailureGuard(tmp_path, TopicPartition("orders", 0), failures.append)


def refusing(number):
    return Mock(side_effect=OSError(number, "refused"))


def test_what_the_disk_refused_fails_every_later_call(guard, failures):
    assert guard.run("reading", lambda: 7) == 7
    with pytest.raises(KafkaStorageError, match="flushing orders-0") as raised:
        guard.run("flushing", refusing(errno.EIO))
    assert failures == [raised.value]
    with pytest.raises(KafkaStorageError) as again:
        guard.check()
    assert again.value is raised.value


@pytest.mark.parametrize(("doing", "fails_for_good"), [("reading", False), ("truncating", True)])
def test_a_log_outlasts_too_many_open_files_unless_it_was_truncating(guard, failures, doing, fails_for_good):
    with pytest.raises(NoDescriptorError):
        guard.run(doing, refusing(errno.EMFILE))
    assert (guard.failure is not None, bool(failures)) == (fails_for_good, fails_for_good)


def test_closing_keeps_an_earlier_failure(guard, tmp_path):
    guard.fail("reading", OSError(errno.EIO, "refused"))
    earlier = guard.failure
    guard.close(KafkaStorageError(tmp_path, "offline"))
    assert guard.failure is earlier


def test_a_closed_log_says_so(guard):
    guard.close(None)
    with pytest.raises(ClosedLogError, match="orders-0 is closed"):
        guard.check()
