"""Where compaction may have left gaps in a log, as its leader says to followers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.refusals import Reason
from barnabas.cluster.model.epochs import LeaderEpoch, Zxid
from barnabas.cluster.model.ids import Offset, TopicIdentity
from tests.batches import whole_batches

TOPIC = TopicIdentity(1, Zxid(2))


def test_gaps_are_noted_as_they_come_and_forgotten_with_a_truncation(logs, batch):
    log = logs.open()
    log.append_as_follower(batch(2, base_offset=0))
    assert (log.compaction.gaps_end, logs.with_gaps) == (0, [])
    log.append_as_follower(batch(2, base_offset=4) + batch(2, base_offset=6), Offset(4))
    log.append_as_follower(batch(2, base_offset=9) + batch(2, base_offset=11), Offset(9))
    assert (log.compaction.gaps_end, len(logs.with_gaps)) == (9, 2)
    log.compaction.note_gaps(Offset(5))
    assert log.compaction.gaps_end == 9
    log.truncate_to(Offset(8))
    assert log.compaction.gaps_end == 8
    log.truncate_fully_and_start_at(Offset(3))
    assert log.compaction.gaps_end == 3


def test_a_gap_of_a_compacted_topic_is_refused_behind_what_the_leader_has_compacted(logs, batch):
    log = logs.open(replace(LogConfig(), cleanup_policy=frozenset({"compact"})))
    log.append_as_follower(batch(2, base_offset=0))
    assert log.append_as_follower(batch(2, base_offset=4), Offset(3)).reason is Reason.OFFSETS_NOT_MONOTONIC
    assert log.log_end_offset == 2


@pytest.mark.parametrize(
    ("policy", "was_compacted", "gaps_end"),
    [("delete", False, 0), ("delete", True, 6), ("compact", False, 6)],
)
def test_a_log_that_is_or_was_compacted_may_have_gaps_anywhere_at_a_start(
    logs, batch, policy, was_compacted, gaps_end
):
    log = logs.open()
    log.identify(TOPIC)
    log.append_as_follower(batch(6, base_offset=0))
    log.close()
    config = replace(LogConfig(), cleanup_policy=frozenset({policy}))
    log = logs.open(config, clean=True, recovery_point=Offset(6), was_compacted=was_compacted)
    assert log.compaction.gaps_end == gaps_end


@pytest.mark.parametrize("clean", [True, False])
def test_a_log_that_kafka_wrote_may_have_gaps_whatever_its_policy_is_now(logs, batch, clean):
    log = logs.open()  # without an identity, as Kafka leaves it
    log.append_as_follower(
        batch(2, base_offset=3) + batch(2, base_offset=9) + batch(1, base_offset=11), Offset(9)
    )
    log.close()
    log = logs.open(clean=clean, recovery_point=Offset(12 if clean else 0))
    assert (log.log_end_offset, log.compaction.gaps_end) == (12, 12)
    found = log.read(Offset(5), 1_000_000, log.log_end_offset)
    assert [each.header.base_offset for each in whole_batches(found.records)] == [9, 11]
    log.append_as_leader(batch(1), LeaderEpoch(0))
    assert log.compaction.gaps_end == 12
    assert log.truncate_to(Offset(7))
    assert (log.log_end_offset, log.compaction.gaps_end) == (7, 7)
    assert log.append_as_follower(batch(2, base_offset=9), Offset(7)).reason is Reason.OFFSETS_NOT_MONOTONIC
    assert log.append_as_follower(batch(2, base_offset=7), Offset(7)).last_offset == 8
