"""Commits, from the append to the log until a coordinator has loaded them again."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from barnabas.broker.coordinator import offsets as offsets_module
from barnabas.broker.coordinator.offsets import MOST_LISTED, PORTION
from barnabas.broker.core.group.records import OffsetAndMetadata, encode_group_key, encode_offset_key
from barnabas.broker.core.group.requests import LeavingMember, MemberCall
from barnabas.broker.server.metadata_purgatories import MetadataPurgatories
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import LEADER_DURING_DELETE, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import UpdateMetadataPartition, UpdateMetadataRequest
from barnabas.cluster.runtime.turn import Turn

NONE = ErrorCode.NONE
T = TopicPartition("t", 0)


def simple(group="g"):
    return MemberCall(group, -1, "", None)


def value(offset, metadata="", commit_ms=10**15):
    return OffsetAndMetadata(offset, -1, metadata, commit_ms)


async def appended(scene):
    """Wait until the commit of T is in the log."""
    partition = scene.groups.partitions.get(scene.tp().partition)
    await scene.room.until(lambda: "g" in partition.offsets and partition.offsets["g"].is_pending(T))


def replicate(scene, hosted):
    """Let both followers fetch all that the leader has."""
    end = hosted.log.log_end_offset
    for follower in (2, 3):
        hosted.replica.follower_fetched(
            follower, end, log_start_offset=0, log_end_offset=end, now_ms=0, session=None
        )
    scene.hosted.high_watermark_rose(hosted)


async def test_a_simple_consumer_commits_and_reads_what_it_has_committed(scene):
    await scene.lead()
    same_partition = next(f"h{n}" for n in range(99) if scene.tp(f"h{n}") == scene.tp())
    assert await scene.fetch() is None
    assert await scene.commit(5) is NONE
    assert await scene.commit(7, "u") is NONE
    assert (await scene.fetch(), await scene.fetch("u")) == (5, 7)
    everything = await scene.groups.offsets.fetch("g", None, require_stable=True)
    assert {tp.topic: found.committed.offset for tp, found in everything.items()} == {"t": 5, "u": 7}
    assert await scene.groups.offsets.fetch(same_partition, None, require_stable=False) == {}


async def test_who_does_not_lead_the_partition_refuses(scene):
    assert await scene.commit(5) is ErrorCode.NOT_COORDINATOR
    assert await scene.fetch() is ErrorCode.NOT_COORDINATOR
    await scene.lead()
    scene.groups.close()
    assert await scene.commit(5) is ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_commits_are_there_again_when_the_partition_is_loaded_again(scene):
    await scene.lead()
    assert [await scene.commit(number) for number in range(3)] == [NONE] * 3
    await scene.resign()
    assert await scene.fetch() is ErrorCode.NOT_COORDINATOR
    await scene.lead(epoch=2)
    assert await scene.fetch() == 2
    assert scene.failed == []


async def test_an_unacknowledged_commit_is_not_seen(make_scene):
    scene = make_scene(commit_required_acks=-1)
    hosted = await scene.lead()
    waiting = asyncio.ensure_future(scene.commit(5))
    await appended(scene)
    assert await scene.fetch() is None
    assert await scene.fetch(require_stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    replicate(scene, hosted)
    assert await waiting is NONE
    assert await scene.fetch(require_stable=True) == 5


async def test_a_client_that_goes_away_takes_no_commit_with_it(make_scene):
    scene = make_scene(commit_required_acks=-1)
    hosted = await scene.lead()
    waiting = asyncio.ensure_future(scene.commit(5))
    await appended(scene)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    replicate(scene, hosted)
    await scene.room.until(
        lambda: not scene.groups.partitions.get(scene.tp().partition).offsets["g"].is_pending(T)
    )
    assert await scene.fetch() == 5


async def test_a_coordinator_that_leads_no_more_acknowledges_no_commit(make_scene):
    """KAFKA-20634: even if the high watermark passes the offsets of the lost records afterwards."""
    scene = make_scene(commit_required_acks=-1)
    await scene.lead()
    waiting = asyncio.ensure_future(scene.commit(5))
    await appended(scene)
    scene.hosted.get(scene.tp()).log.truncate_to(0)
    await scene.resign()
    assert await waiting is ErrorCode.NOT_COORDINATOR
    hosted = await scene.lead(epoch=2)
    scene.room.write(hosted, b"another record at that offset")
    replicate(scene, hosted)
    assert await scene.fetch() is None


async def test_too_few_replicas_are_a_coordinator_that_is_not_available(make_scene, room):
    scene = make_scene(commit_required_acks=-1)
    tp = scene.tp()
    hosted = room.lead(0, isr=(), topic_partition=tp)
    await room.until(lambda: scene.groups.partitions.get(tp.partition).is_loaded)
    hosted.log.config = hosted.log.config.__class__(min_insync_replicas=2)
    assert await scene.commit(5) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert await scene.fetch(require_stable=True) is None


async def test_long_metadata_is_refused_and_the_other_partitions_go_on(make_scene):
    scene = make_scene(metadata_max_bytes=4)
    await scene.lead()
    u, v = TopicPartition("u", 0), TopicPartition("v", 0)
    commits = {T: value(1, "12345"), u: value(2, "1234"), v: value(3, "\U0001f600" * 2)}
    errors = await scene.groups.offsets.commit(simple(), commits)
    assert errors == {T: ErrorCode.OFFSET_METADATA_TOO_LARGE, u: NONE, v: NONE}
    assert await scene.fetch(require_stable=True) is None, "nor is it pending"
    assert [await scene.fetch("u"), await scene.fetch("v")] == [2, 3]
    assert await scene.commit(1, metadata="12345") is ErrorCode.OFFSET_METADATA_TOO_LARGE


async def test_a_commit_that_fits_into_no_batch_is_refused(scene):
    hosted = await scene.lead()
    hosted.log.config = hosted.log.config.__class__(max_message_bytes=300)
    commits = {TopicPartition("t", number): value(1) for number in range(20)}
    errors = await scene.groups.offsets.commit(simple(), commits)
    assert set(errors.values()) == {ErrorCode.INVALID_COMMIT_OFFSET_SIZE}


async def test_a_commit_that_no_segment_can_hold_has_an_invalid_size(scene):
    hosted = await scene.lead()
    hosted.log.config = replace(hosted.log.config, segment_bytes=100)
    assert await scene.commit(1) is ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    assert hosted.log.log_end_offset == 0


async def test_a_commit_of_a_generation_needs_its_group(scene):
    await scene.lead()
    assert await scene.commit(1, generation=3, member="m") is ErrorCode.ILLEGAL_GENERATION
    joined = await scene.member()
    assert await scene.commit(1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert await scene.commit(1, generation=9, member=joined.member_id) is ErrorCode.ILLEGAL_GENERATION
    assert await scene.commit(4, generation=1, member=joined.member_id) is NONE
    assert await scene.fetch() == 4


async def test_offsets_are_deleted_but_not_those_of_subscribed_topics(scene):
    await scene.lead()
    assert await scene.groups.offsets.delete("g", [T]) is ErrorCode.GROUP_ID_NOT_FOUND
    joined = await scene.member(topics=("t",))
    for topic in "tu":
        assert await scene.commit(1, topic, generation=1, member=joined.member_id) is NONE
    u = TopicPartition("u", 0)
    assert await scene.groups.offsets.delete("g", [T, u]) == {T: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, u: NONE}
    assert (await scene.fetch(), await scene.fetch("u")) == (1, None)
    assert scene.records()[-1] == (encode_offset_key("g", u), None)


async def test_no_offsets_of_the_group_without_a_name_are_deleted(scene):
    assert await scene.groups.offsets.delete("", [T]) is ErrorCode.INVALID_GROUP_ID


async def test_a_group_of_which_all_offsets_are_deleted_is_gone(scene):
    await scene.lead()
    await scene.commit(1)
    assert await scene.groups.offsets.delete("g", [T]) == {T: NONE}
    assert await scene.groups.offsets.delete("g", [T]) is ErrorCode.GROUP_ID_NOT_FOUND
    assert scene.records()[-1] == (encode_offset_key("g", T), None)


async def test_a_topic_that_is_deleted_during_the_load_takes_its_offsets_along(scene):
    await scene.lead()
    await scene.commit(1)
    await scene.commit(2, "u")
    await scene.resign()
    scene.room.lead(2, topic_partition=scene.tp())
    scene.groups.partitions_deleted([T])
    await scene.lead(epoch=2)
    assert (await scene.fetch(), await scene.fetch("u")) == (None, 2)
    assert [key for key, value in scene.records() if value is None] == [encode_offset_key("g", T)]


async def test_a_deleted_topic_takes_its_offsets_along(scene):
    await scene.lead()
    await scene.commit(1)
    await scene.commit(2, "u")
    scene.groups.partitions_deleted([T])
    await scene.room.until(lambda: "offsets-of-deleted-topics" not in scene.supervisor.names)
    assert (await scene.fetch(), await scene.fetch("u")) == (None, 2)
    await scene.resign()
    await scene.lead(epoch=2)
    assert (await scene.fetch(), await scene.fetch("u")) == (None, 2)


async def test_topics_that_zookeeper_has_lost_keep_their_offsets_and_deleted_ones_do_not(scene):
    purgatories = MetadataPurgatories()
    purgatories.on_deleted = scene.groups.partitions_deleted
    await scene.lead()
    await scene.commit(1)
    await scene.commit(2, "u")
    alive = PartitionState(LeaderAndIsr(1, 0, (1,)), 1)
    dying = PartitionState(LeaderAndIsr(LEADER_DURING_DELETE, 0, (1,)), 1)

    def update(epoch, *topics, state=alive):
        named = (UpdateMetadataPartition(TopicPartition(topic, 0), state, (1,)) for topic in topics)
        request = UpdateMetadataRequest(1, epoch, 1, tuple(named), (), is_complete=True)
        purgatories.changed(scene.room.metadata.apply(request))

    update(1, "t", "u")
    update(2)
    update(3, "u", state=dying)
    await scene.room.until(lambda: "offsets-of-deleted-topics" not in scene.supervisor.names)
    assert (await scene.fetch(), await scene.fetch("u")) == (1, None)
    assert [key for key, record in scene.records() if record is None] == [
        encode_offset_key("g", TopicPartition("u", 0))
    ]


async def test_old_offsets_expire_and_the_group_with_the_last(scene):
    await scene.lead()
    await scene.commit(1, commit_ms=5)
    await scene.commit(2, "u", commit_ms=5, expire_ms=2**60)
    await scene.commit(3, "v")
    assert await scene.groups.offsets.expire() == 1
    assert [await scene.fetch(topic) for topic in "tuv"] == [None, 2, 3]
    await scene.commit(3, "v", commit_ms=5)
    await scene.commit(2, "u", commit_ms=5)
    assert await scene.groups.offsets.expire() == 2
    assert scene.groups.count == 0
    await scene.resign()
    await scene.lead(epoch=2)
    assert scene.groups.count == 0


async def test_a_commit_that_comes_while_its_group_expires_stays(scene, monkeypatch):
    await scene.lead()
    partition = scene.groups.partitions.get(scene.tp().partition)
    old = {TopicPartition("t", number): value(1, commit_ms=5) for number in range(PORTION + 1)}
    await scene.groups.offsets.commit(simple(), old)
    last = TopicPartition("t", PORTION)

    class CommitsBetween(Turn):
        """A turn that is over once the first portion is gone, and lets a client commit."""

        async def yield_if_long(self):
            if len(partition.offsets["g"]) == 1:
                assert await scene.groups.offsets.commit(simple(), {last: value(7)}) == {last: NONE}

    monkeypatch.setattr(offsets_module, "Turn", CommitsBetween)
    assert await scene.groups.offsets.expire() == PORTION
    found = await scene.groups.offsets.fetch("g", None, require_stable=True)
    assert {tp: each.committed.offset for tp, each in found.items()} == {last: 7}
    await scene.resign()
    await scene.lead(epoch=2)
    assert await scene.groups.offsets.fetch("g", None, require_stable=True) == found


async def test_offsets_of_a_stable_group_expire_where_it_is_not_subscribed(scene):
    await scene.lead()
    joined = await scene.member(topics=("t",))
    for topic in "tu":
        await scene.commit(1, topic, generation=1, member=joined.member_id, commit_ms=5)
    assert await scene.groups.offsets.expire() == 1
    assert (await scene.fetch(), await scene.fetch("u")) == (1, None)


async def test_garbage_collections_do_not_visit_very_many_offsets(scene, monkeypatch):
    """200,000 commits of 20,000 groups made each full collection a turn of 0.3 s."""
    exempted = []
    monkeypatch.setattr(offsets_module, "exempt_survivors", lambda: exempted.append(1))
    monkeypatch.setattr(offsets_module, "MANY_NEW", 10)
    await scene.lead()
    for number in range(20):
        await scene.commit(number, f"t{number}")
        await scene.commit(number)
    assert len(exempted) == 2


async def test_a_group_with_very_many_offsets_is_deleted_whole(scene):
    await scene.lead()
    many = [TopicPartition("t", number) for number in range(2 * PORTION + 3)]
    errors = await scene.groups.offsets.commit(simple(), {each: value(1) for each in many})
    assert set(errors.values()) == {NONE}
    assert await scene.groups.delete("g") is NONE
    deleted = {key for key, record in scene.records() if record is None}
    assert deleted == {encode_offset_key("g", each) for each in many}
    assert await scene.fetch() is None


@pytest.fixture
async def many(scene):
    """A group with more commits than a turn deletes."""
    await scene.lead()
    partitions = [TopicPartition("t", number) for number in range(2 * PORTION + 3)]
    await scene.groups.offsets.commit(simple(), {each: value(1) for each in partitions})
    return partitions


def between_portions(monkeypatch, act):
    """Await ``act`` whenever deleting offsets may yield to others."""

    class YieldsTo(Turn):
        async def yield_if_long(self):
            await act()

    monkeypatch.setattr(offsets_module, "Turn", YieldsTo)


async def test_nobody_gets_into_a_group_while_it_is_deleted(scene, many, monkeypatch):
    answers = []

    async def enter():
        answers.append((await scene.join()).error)
        answers.append(await scene.commit(7))

    between_portions(monkeypatch, enter)
    assert await scene.groups.delete("g") is NONE
    assert set(answers) == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
    await scene.resign()
    await scene.lead(epoch=2)
    assert await scene.groups.offsets.fetch("g", None, require_stable=False) == {}
    assert await scene.commit(8) is NONE
    assert await scene.fetch() == 8


async def test_a_commit_that_was_being_encoded_is_not_lost_with_its_group(scene, many, monkeypatch):
    deleting = []

    async def paced_with_a_deletion(items):
        for item in items:
            yield item
        deleting.append(asyncio.ensure_future(scene.groups.delete("g")))
        await asyncio.sleep(0)

    with monkeypatch.context() as patch:
        patch.setattr(offsets_module, "paced", paced_with_a_deletion)
        assert await scene.commit(7) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert await deleting[0] is NONE


async def test_a_group_is_deleted_to_the_end_although_its_client_goes_away(scene, many, monkeypatch):
    deleting = asyncio.ensure_future(scene.groups.delete("g"))

    async def go_away():
        deleting.cancel()

    between_portions(monkeypatch, go_away)
    await asyncio.gather(deleting, return_exceptions=True)
    assert deleting.cancelled()
    await scene.room.until(lambda: not scene.supervisor.names)
    await scene.resign()
    await scene.lead(epoch=2)
    assert scene.groups.count == 0


@pytest.mark.parametrize("what", ["group", "offsets"])
async def test_a_deletion_that_the_coordinator_cannot_end_is_not_acknowledged(scene, many, monkeypatch, what):
    async def resign():
        scene.room.follow(epoch=1, topic_partition=scene.tp())

    between_portions(monkeypatch, resign)
    groups = scene.groups
    deletion = groups.delete("g") if what == "group" else groups.offsets.delete("g", many)
    assert await deletion is ErrorCode.NOT_COORDINATOR


async def test_offsets_of_a_topic_that_a_member_subscribes_to_meanwhile_stay(scene, many, monkeypatch):
    async def subscribe():
        if not scene.groups.describe("g").members:
            joining = scene.join(topics=("t",))
            await asyncio.sleep(0)
            scene.timer.advance(1)
            await joining

    between_portions(monkeypatch, subscribe)
    answer = await scene.groups.offsets.delete("g", many)
    kept = await scene.groups.offsets.fetch("g", None, require_stable=False)
    assert len(kept) == len(many) - PORTION
    assert answer == {each: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if each in kept else NONE for each in many}


async def test_a_commit_on_its_way_does_not_bring_a_deleted_group_back(make_scene):
    scene = make_scene(commit_required_acks=-1)
    hosted = await scene.lead()
    waiting = asyncio.ensure_future(scene.commit(5))
    await appended(scene)
    assert await scene.groups.delete("g") is NONE
    replicate(scene, hosted)
    assert await waiting is NONE
    assert await scene.fetch() is None
    await scene.resign()
    await scene.lead(epoch=2)
    assert (await scene.fetch(), scene.groups.count) == (None, 0)


async def test_a_group_that_had_members_leaves_a_tombstone(scene):
    await scene.lead()
    joined = await scene.member()
    assert await scene.groups.delete("g") is ErrorCode.NON_EMPTY_GROUP
    await scene.groups.leave("g", [LeavingMember(joined.member_id, None)])
    assert await scene.groups.delete("g") is NONE
    assert scene.records()[-1] == (encode_group_key("g"), None)
    assert await scene.groups.delete("g") is ErrorCode.GROUP_ID_NOT_FOUND


async def test_the_expiry_task_goes_on(make_scene):
    scene = make_scene(retention_check_interval_ms=1)
    await scene.lead()
    with capture_logs() as said:
        task = asyncio.ensure_future(scene.groups.expire_offsets())
        await scene.commit(1, commit_ms=5)
        await scene.room.until(lambda: any("expired offsets" in each["event"] for each in said))
    assert scene.groups.count == 0
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    lines = [each["event"] for each in said]
    assert any(re.search(r"Removed 1 expired offsets in \d+ milliseconds\.$", line) for line in lines)


def lines_of(said):
    """The log lines of ``GroupCoordinator``, without its prefix."""
    return [each["event"].removeprefix("[GroupCoordinator 1]: ") for each in said]


async def test_deletions_are_logged_with_the_number_of_removed_offsets(scene):
    await scene.lead()
    many = [TopicPartition("t", number) for number in range(PORTION + MOST_LISTED)]
    await scene.groups.offsets.commit(simple(), {each: value(1) for each in many})
    u = TopicPartition("u", 0)
    with capture_logs() as said:
        await scene.groups.offsets.delete("g", [T, u])
        await scene.groups.offsets.topic_partitions_deleted([u, many[1]])
        await scene.groups.offsets.topic_partitions_deleted(many[2 : MOST_LISTED + 5])
        await scene.groups.delete("g")
    lines = lines_of(said)
    assert lines[:2] == [
        "The following offsets of the group g were deleted: t-0, u-0. A total of 1 offsets were removed.",
        "Removed 1 offsets associated with deleted partitions: t-1, u-0.",
    ]
    assert re.fullmatch(r"Removed 103 offsets .+: t-2, t-3, .+, t-101 and 3 others\.", lines[2])
    total = len(many) - 105
    assert lines[3:] == [f"The following groups were deleted: g. A total of {total} offsets were removed."]


async def test_a_deletion_that_is_refused_is_not_logged_as_one(scene):
    await scene.lead()
    joined = await scene.member(topics=("t",))
    await scene.commit(1, generation=1, member=joined.member_id)
    with capture_logs() as said:
        assert await scene.groups.offsets.delete("g", [T]) == {T: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}
        assert await scene.groups.delete("g") is ErrorCode.NON_EMPTY_GROUP
    assert lines_of(said) == []
