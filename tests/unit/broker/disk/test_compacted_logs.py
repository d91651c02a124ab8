"""Compacted logs in their directory: the cleaner offset, replaced segments, and gaps."""

from __future__ import annotations

import pytest

from barnabas.broker.cleaning.core.choice import log_to_clean
from barnabas.broker.cleaning.job import CleanerMemory, facts_of, plan
from barnabas.broker.cleaning.rewrite import NewSegment, clean
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.cluster.model.epochs import LeaderEpoch, Zxid
from barnabas.cluster.model.ids import Offset, TopicIdentity, TopicPartition
from tests.batches import keyed_batch

EPOCH = LeaderEpoch(0)


def tp(partition):
    return TopicPartition("events", partition)


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
    base_offset = log.compaction.segments[-1].base_offset
    assert dirs.cleaner_offset(TopicPartition("kept", 0)) == base_offset < 8
    assert checkpoint.read_text() == f"0\n1\nkept 0 {base_offset}\n"
    dirs.checkpoint_cleaner_offset(TopicPartition("nowhere", 0), Offset(1))


def test_a_log_that_kafka_wrote_is_known_for_good_as_one_that_may_have_gaps(tmp_path, open_dirs, batch):
    """Its follower has no row, and its topic is not compacted any more; a log of ours gets no row."""
    dirs = open_dirs(tmp_path)
    kafkas, ours, empty = (TopicPartition(name, 0) for name in ("kafkas", "ours", "empty"))
    dirs.get_or_create(kafkas).append_as_follower(batch(2, base_offset=3), Offset(3))
    dirs.get_or_create(ours).append_as_follower(batch(5, base_offset=0))
    dirs.get(ours).identify(TopicIdentity(1, Zxid(2)))
    dirs.get_or_create(empty)
    dirs.close()
    (tmp_path / "cleaner-offset-checkpoint").unlink()
    for _ in range(2):
        dirs = open_dirs(tmp_path)
        assert [dirs.get(tp).compaction.gaps_end for tp in (kafkas, ours, empty)] == [5, 0, 0]
        dirs.get(kafkas).identify(TopicIdentity(1, Zxid(3)))
        dirs.close()
        assert (tmp_path / "cleaner-offset-checkpoint").read_text() == "0\n1\nkafkas 0 0\n"


def test_a_segment_that_was_compacted_stays_open_for_its_readers_for_a_while(tmp_path, open_dirs, batch):
    now = [0]
    config = LogConfig(segment_bytes=200, cleanup_policy=frozenset({"compact"}), file_delete_delay_ms=1000)
    dirs = open_dirs(tmp_path, config=config, at_once=True, clock=lambda: now[0])
    log = dirs.get_or_create(TopicPartition("t", 0))
    for offset in range(6):
        log.append_as_follower(keyed_batch([(b"k", b"v" * 80)], base_offset=offset))
    former, due = log.compaction.segments[0], log_to_clean(facts_of(log, Offset(6)), Offset(0), 0)
    job = plan(log, due, CleanerMemory(24_000, 0.9, 1 << 16))
    first = next(step for step in clean(job) if isinstance(step, NewSegment))
    new = log.compaction.open(first.base_offset, config).result()
    log.compaction.begin_swap(new).result()
    assert log.compaction.end_swap(new, first.replaced, 0, config.file_delete_delay_ms)
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
