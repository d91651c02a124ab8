"""The coordinator of groups with members, from the election until another broker takes over."""

from __future__ import annotations

import asyncio
import gc
import math
import struct
from collections import OrderedDict
from dataclasses import replace
from unittest.mock import AsyncMock

import pytest
from structlog.testing import capture_logs

from barnabas.broker.coordinator import effects, loading
from barnabas.broker.coordinator.metrics import show_groups
from barnabas.broker.core.group.coordinator_partition import OFFSETS_TOPIC
from barnabas.broker.core.group.records import encode_group_key, encode_offset_key
from barnabas.broker.core.group.requests import LeavingMember, MemberCall
from barnabas.broker.core.group.rounds import scala_option
from barnabas.broker.core.group.states import GroupState
from barnabas.broker.disk.segment.file_records import FileRecords
from barnabas.broker.disk.segment.replacement import SegmentReplacement
from barnabas.broker.replicas import damage
from barnabas.broker.replicas.damage import DamagedReplicas
from barnabas.broker.replicas.repair import RangeUnavailableError
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.runtime import turn
from barnabas.cluster.runtime.line_limit import LimitedLines
from tests.unit.broker.coordinator.conftest import PARTITIONS
from tests.unit.broker.server.turns import Turns

NONE = ErrorCode.NONE


async def test_members_join_sync_beat_and_leave(scene):
    await scene.lead()
    joined = await scene.member()
    assert (joined.leader, joined.generation, joined.protocol) == (joined.member_id, 1, "range")
    assert scene.heartbeat(joined) is NONE
    summary = scene.groups.describe("g")
    assert (summary.state, summary.members[0].client_host) == (GroupState.STABLE, "/127.0.0.1")
    second = scene.join()
    await asyncio.sleep(0)
    assert scene.heartbeat(joined) is ErrorCode.REBALANCE_IN_PROGRESS
    first = scene.join(joined.member_id)
    results = await asyncio.gather(first, second)
    assert [each.generation for each in results] == [2, 2]
    assert [len(each.members) for each in results] == [2, 0]
    waiting = scene.sync(results[1])
    await asyncio.sleep(0)
    assert not waiting.done()
    await scene.sync(results[0], {results[1].member_id: b"second"})
    assert (await waiting).assignment == b"second"
    left = await scene.groups.leave("g", [LeavingMember(each.member_id, None) for each in results])
    assert [error for _, error in left] == [NONE, NONE]
    assert scene.groups.describe("g").state is GroupState.EMPTY


async def test_a_silent_member_is_removed(scene):
    await scene.lead()
    joined = await scene.member()
    scene.timer.advance(9_000)
    assert scene.heartbeat(joined) is NONE
    scene.timer.advance(9_000)
    assert scene.heartbeat(joined) is NONE
    scene.timer.advance(10_000)
    assert scene.heartbeat(joined) is ErrorCode.UNKNOWN_MEMBER_ID
    assert scene.groups.describe("g").state is GroupState.EMPTY


def end_round(scene):
    """Let the initial delay end, which the second member has prolonged."""
    scene.timer.advance(1)
    scene.timer.advance(1)


@pytest.fixture
async def large(scene, monkeypatch):
    """The joins of 50 members, whose round has not ended yet."""
    await scene.lead()
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    joins = [scene.join() for _ in range(50)]
    await asyncio.sleep(0)
    return joins


async def test_the_members_of_a_large_group_are_not_all_answered_in_one_turn(scene, large):
    turns = Turns()
    for join in large:
        join.add_done_callback(lambda _: turns.add())
    end_round(scene)
    joined = await asyncio.gather(*large)
    assert turns.most_in_a_turn() < 10
    turns = Turns()
    syncs = [scene.sync(each) for each in joined]
    for sync in syncs:
        sync.add_done_callback(lambda _: turns.add())
    await asyncio.gather(*syncs)
    assert turns.most_in_a_turn() < 10


async def test_garbage_collections_do_not_visit_the_requests_of_a_large_group(scene, large, monkeypatch):
    """31 ms for 1,000 members."""
    exempted = []
    monkeypatch.setattr(effects, "MANY_MEMBERS", len(large))
    monkeypatch.setattr(effects, "EXEMPTION_S", 0)
    monkeypatch.setattr(effects, "exempt_survivors", lambda: exempted.append(gc.get_threshold()[2]))
    full = gc.get_threshold()[2]
    assert full > 1e6, "none are made while requests are parked"
    end_round(scene)
    joined = await asyncio.gather(*large)
    assert gc.get_threshold()[2] < full
    await asyncio.gather(*(scene.sync(each) for each in joined))
    await scene.room.until(lambda: exempted)


async def test_the_lines_of_the_members_of_a_loaded_group_are_not_written_in_one_turn(
    scene, large, monkeypatch
):
    """1,000 of them took 72 ms."""
    end_round(scene)
    await asyncio.gather(*(scene.sync(each) for each in await asyncio.gather(*large)))
    await scene.resign()
    turns = Turns()
    turns.count(monkeypatch, effects.GroupEffects, "log")
    await scene.lead(epoch=2)
    assert turns.all > len(large)
    assert turns.most_in_a_turn() < 10


async def test_a_loaded_group_is_stable_with_its_members(scene):
    await scene.lead()
    joined = await scene.member(instance="one")
    await scene.resign()
    assert scene.heartbeat(joined) is ErrorCode.NOT_COORDINATOR
    await scene.lead(epoch=2)
    assert scene.heartbeat(joined) is NONE
    synced = await scene.sync(joined)
    assert (synced.error, synced.assignment) == (NONE, b"mine")
    scene.timer.advance(10_000)
    assert scene.groups.describe("g").state is GroupState.EMPTY, "its session runs here"


async def test_who_waits_is_told_that_the_coordinator_has_moved(scene):
    await scene.lead()
    first = await scene.member()
    joining = scene.join()
    await asyncio.sleep(0)
    await scene.resign()
    assert (await joining).error is ErrorCode.NOT_COORDINATOR
    await scene.lead(epoch=2)
    assert scene.timer.wheel.size == 1, "the timers of the former partition are stopped"
    scene.timer.advance(1)
    assert scene.heartbeat(first) is NONE


async def test_lines_of_a_resignation_name_the_epoch_that_caused_it(scene):
    await scene.lead()
    await scene.commit(1)
    with capture_logs() as said:
        await scene.resign(epoch=3)
    lines, number = [each["event"] for each in said], scene.tp().partition
    assert any(line.endswith(f"coordinator for partition {number} in epoch Some(3)") for line in lines)
    assert any(f"Finished unloading {scene.tp()} for coordinator epoch Some(3). " in line for line in lines)
    assert scala_option(None) == "None"


async def test_a_partition_that_is_led_again_at_once_keeps_its_own_timers(scene):
    await scene.lead()
    joined = await scene.member()
    scene.room.follow(epoch=1, topic_partition=scene.tp())
    await scene.lead(epoch=2)
    await scene.room.until(lambda: not scene.supervisor.names)
    assert scene.heartbeat(joined) is NONE
    assert scene.timer.wheel.size == 1
    scene.timer.advance(10_000)
    assert scene.heartbeat(joined) is ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_former_partition_decides_and_writes_nothing(scene):
    await scene.lead()
    joined = await scene.member()
    assert await scene.commit(1, generation=1, member=joined.member_id) is NONE
    former, before = scene.groups.partitions.get(scene.tp().partition), scene.records()
    scene.room.follow(epoch=1, topic_partition=scene.tp())
    scene.room.lead(2, topic_partition=scene.tp())
    scene.timer.advance(10_000)  # the former sessions end before their timers are stopped
    await scene.groups.offsets.forget(former, {TopicPartition("t", 0)})
    assert scene.records() == before
    await scene.room.until(lambda: scene.groups.partitions.get(scene.tp().partition).is_loaded)
    assert scene.heartbeat(joined) is NONE
    assert await scene.fetch() == 1


async def test_nobody_finds_a_group_while_it_is_loaded(scene):
    await scene.lead()
    joined = await scene.member()
    await scene.commit(1, group="g", generation=1, member=joined.member_id)
    await scene.resign()
    error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    async with scene.groups._loader._loading:
        scene.room.lead(2, topic_partition=scene.tp())
        assert await scene.commit(1) is error
        assert await scene.fetch() is error
        assert (await scene.join()).error is error
        assert (await scene.sync(joined)).error is ErrorCode.REBALANCE_IN_PROGRESS
        assert scene.groups.describe("g") is error
        assert await scene.groups.delete("g") is error
        assert await scene.groups.leave("g", []) is error
        await scene.resign(epoch=3)
    await scene.lead(epoch=4)
    assert scene.heartbeat(joined) is NONE


async def test_members_are_all_right_while_their_group_is_loaded(scene):
    scene.room.lead(0, topic_partition=scene.tp())
    assert scene.groups.heartbeat(MemberCall("g", 1, "m", None)) is NONE
    error, groups = await scene.groups.list(())
    assert (error, groups) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, [])


async def test_groups_are_listed_by_state(scene):
    await scene.lead()
    await scene.member()
    error, groups = await scene.groups.list(())
    assert (error, [tuple(each) for each in groups]) == (NONE, [("g", "consumer", GroupState.STABLE)])
    assert (await scene.groups.list({"Empty", "nonsense"}))[1] == []
    assert len((await scene.groups.list({"Stable"}))[1]) == 1
    scene.groups.close()
    assert await scene.groups.list(()) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, [])


@pytest.mark.parametrize("group", ["", "g"])
async def test_the_empty_group_id_is_for_commits_alone(scene, group):
    await scene.lead(group)
    expected = NONE if group else ErrorCode.INVALID_GROUP_ID
    assert await scene.commit(1, group=group) is NONE
    joining = scene.join(group=group)
    await asyncio.sleep(0)
    scene.timer.advance(1)
    assert (await joining).error is expected


async def test_a_damaged_record_is_skipped_and_stops_no_group(scene, caplog):
    hosted = await scene.lead()
    await scene.commit(1)
    scene.room.write(hosted, b"no key")
    await scene.commit(2, "u")
    await scene.resign()
    await scene.lead(epoch=2)
    assert (await scene.fetch(), await scene.fetch("u")) == (1, 2)


@pytest.fixture
async def committed(scene, monkeypatch):
    """Ten commits of two groups on broker 1 alone, each in a batch of its own, and not loaded."""
    monkeypatch.setattr(loading, "RETRY_S", 0.01)
    replicas = DamagedReplicas(scene.hosted, scene.room.metadata, scene.supervisor, scene.metrics)
    hosted = await scene.lead()
    hosted.log.config = replace(hosted.log.config, index_interval_bytes=1)
    for number in range(10):
        await scene.commit(number, "t" if number < 8 else "u")
    hosted.log.flush()
    await scene.resign()
    yield hosted
    await replicas.close()


@pytest.fixture
def damaged(committed):
    """The same; the frame of the fifth batch is destroyed."""
    destroy_fifth_batch(committed.log)
    return committed


def destroy_fifth_batch(log):
    start = len(log.read(Offset(0), 1 << 20, Offset(4)).records)
    with (log.directory / f"{0:020d}.log").open("r+b") as file:
        file.seek(start)
        file.write(b"\xff" * 61)


async def test_damage_that_nobody_can_repair_is_skipped_and_stops_no_group(scene, damaged):
    with capture_logs() as said:
        scene.room.lead(2, isr=(1,), topic_partition=scene.tp())
        await scene.room.until(lambda: scene.groups.partitions.get(scene.tp().partition).is_loaded)
    assert (await scene.fetch("t"), await scene.fetch("u")) == (7, 9)
    lines = [each["event"] for each in said if "Skipping the damaged offsets" in each["event"]]
    assert [line.split(": ")[0] for line in lines] == [
        f"Skipping the damaged offsets 4 to 4 of {scene.tp()}, which no other replica has"
    ]


async def test_damage_that_another_replica_may_repair_is_waited_for(scene, damaged):
    scene.hosted.is_repairable = lambda *_: True
    scene.room.lead(2, topic_partition=scene.tp())

    def partition():
        return scene.groups.partitions.get(scene.tp().partition)

    await scene.room.until(damaged.log.damaged_spans)
    await asyncio.sleep(0.05)
    assert not partition().is_loaded
    scene.hosted.is_repairable = lambda *_: False
    await scene.room.until(lambda: partition().is_loaded)


async def test_a_damaged_partition_that_waits_for_its_repair_lets_others_load(scene, damaged):
    scene.hosted.is_repairable = lambda *_: True
    scene.room.lead(2, topic_partition=scene.tp())
    await scene.room.until(damaged.log.damaged_spans)
    other = next(f"h{n}" for n in range(99) if scene.tp(f"h{n}") != scene.tp())
    await scene.lead(other)
    assert await scene.commit(1, group=other) is NONE
    assert not scene.groups.partitions.get(scene.tp().partition).is_loaded


async def test_a_load_that_fails_is_repeated(scene, monkeypatch):
    await scene.lead()
    await scene.commit(1)
    await scene.resign()
    real, calls = loading.GroupLoad.add, []

    def add(load, data, offset):
        calls.append(len(data))
        if len(calls) < 20:
            raise RuntimeError("an error that nobody foresaw")
        return real(load, data, offset)

    monkeypatch.setattr(loading.GroupLoad, "add", add)
    monkeypatch.setattr(loading, "RETRY_S", 0)
    monkeypatch.setattr(loading, "LINES", LimitedLines())
    with capture_logs() as said:
        await scene.lead(epoch=2)
    assert (await scene.fetch(), len(calls)) == (1, 20)
    assert sum("exc_info" in each for each in said) == loading.LINES_PER_MINUTE


async def test_a_segment_that_is_replaced_while_it_is_loaded_fails_no_disk(scene, monkeypatch):
    monkeypatch.setattr(loading, "RETRY_S", 0)
    log, real, begun = (await scene.lead()).log, FileRecords.__bytes__, []
    for number in range(5):
        await scene.commit(number, metadata="m" * 4000)
    await scene.resign()

    def read(records):
        if not begun:
            begun.append(True)
            log.seal_active()
            span = log.spans()[0]
            replacement = SegmentReplacement(log.directory, span, log.config, 0)
            replacement.add(log.read(Offset(0), 1 << 20, span.end_offset).records, None)
            assert log.replace_segment(span, replacement.finish())
            log.flush()
        return real(records)

    monkeypatch.setattr(FileRecords, "__bytes__", read)
    await scene.lead(epoch=2)
    assert (begun, await scene.fetch(), scene.room.logs.offline) == ([True], 4, {})


async def test_the_log_is_loaded_in_pieces(make_scene):
    scene = make_scene(load_buffer_bytes=1)
    await scene.lead()
    for number in range(20):
        await scene.commit(number)
    await scene.resign()
    await scene.lead(epoch=2)
    assert await scene.fetch() == 19


async def test_a_group_that_is_too_large_to_be_stored_rebalances(scene):
    hosted = await scene.lead()
    joining = scene.join()
    await asyncio.sleep(0)
    scene.timer.advance(1)
    joined = await joining
    hosted.log.config = hosted.log.config.__class__(max_message_bytes=80)
    synced = await scene.sync(joined, {joined.member_id: bytes(100)})
    assert synced.error is ErrorCode.UNKNOWN_SERVER_ERROR


async def test_the_page_shows_groups_and_offsets(scene):
    show_groups(scene.metrics, scene.groups.partitions)
    value = scene.metrics.registry.get_sample_value
    loads = [f"kafka_server_group_coordinator_metrics_partition_load_time_{kind}" for kind in ("max", "avg")]
    assert all(math.isnan(value(name)) for name in loads)
    await scene.lead()
    assert all(value(name) >= 0 for name in loads)
    joined = await scene.member()
    await scene.commit(1, generation=1, member=joined.member_id)
    prefix = "kafka_coordinator_group_GroupMetadataManager_"
    assert [value(prefix + name) for name in ("NumOffsets", "NumGroups", "NumGroupsStable")] == [1, 1, 1]
    assert value(prefix + "NumGroupsEmpty") == 0
    coordinator = "kafka_server_group_coordinator_metrics_"
    assert value(coordinator + "offset_commit_count_total") == 1
    assert value(coordinator + "group_completed_rebalance_count_total") == 1


async def test_topics_of_others_are_nothing_to_the_coordinator(scene):
    scene.room.lead(0, topic_partition=TopicPartition("t", 0))
    assert not scene.groups.partitions.all


async def test_the_record_of_a_group_is_written_once_a_round(scene):
    await scene.lead()
    joined = await scene.member()
    await scene.commit(3, generation=1, member=joined.member_id)
    keys = [key for key, _ in scene.records()]
    assert keys == [encode_group_key("g"), encode_offset_key("g", TopicPartition("t", 0))]


async def test_sessions_and_join_rounds_count_as_delayed_operations_of_kafkas_purgatories(scene):
    show_groups(scene.metrics, scene.groups.partitions)
    await scene.lead()

    def waiting(name):
        return {
            kind: scene.metrics.registry.get_sample_value(
                f"kafka_server_DelayedOperationPurgatory_{kind}", {"delayedOperation": name}
            )
            for kind in ("PurgatorySize", "NumDelayedOperations")
        }

    def both(count):
        return {"PurgatorySize": count, "NumDelayedOperations": count}

    assert (waiting("Heartbeat"), waiting("Rebalance")) == (both(0), both(0))
    joining = scene.join()
    await asyncio.sleep(0)
    assert waiting("Rebalance") == both(1)
    scene.timer.advance(1)
    joined = await joining
    await scene.sync(joined, {joined.member_id: b"mine"})
    assert (waiting("Heartbeat"), waiting("Rebalance")) == (both(1), both(0))
    await scene.groups.leave("g", [LeavingMember(joined.member_id, None)])
    assert (waiting("Heartbeat"), waiting("Rebalance")) == (both(0), both(0))


async def test_damage_that_a_live_replica_has_too_is_skipped(scene, damaged, monkeypatch):
    monkeypatch.setattr(
        damage,
        "fetch_again",
        AsyncMock(side_effect=RangeUnavailableError("offset 4: CORRUPT_MESSAGE", is_damaged=True)),
    )
    scene.room.know(*(TopicPartition(OFFSETS_TOPIC, number) for number in range(PARTITIONS)))
    partition = scene.room.lead(2, isr=(1,), topic_partition=scene.tp())
    partition.replica.remote(3).log_end_offset = partition.log.log_end_offset
    with capture_logs() as said:
        await scene.room.until(lambda: scene.groups.partitions.get(scene.tp().partition).is_loaded)
    assert (await scene.fetch("t"), await scene.fetch("u")) == (7, 9)
    assert sum("Skipping the damaged offsets 4 to 4" in each["event"] for each in said) == 1


class Forgetful(OrderedDict):
    """Known boundaries of reads that are all evicted, as by other readers: each read asks the index."""

    def __setitem__(self, offset, place):
        pass

    def popitem(self, last=True):
        return None


@pytest.mark.parametrize("entry", range(9))
@pytest.mark.parametrize("wrong", [(0, 7), (0, -100), (1, 0), (-1, 0)], ids=str)
@pytest.mark.parametrize("is_damaged", [False, True])
async def test_a_wrong_index_stops_no_group(scene, committed, entry, wrong, is_damaged):
    log = committed.log
    if is_damaged:
        destroy_fifth_batch(log)
    log.seal_active()
    log.flush()
    segment = log._files.segments.from_offset(Offset(0))[0]
    segment._index_interval, index = 1, segment.offset_index
    right = index.path.read_bytes()
    offset, position = struct.unpack_from(">ii", right, entry * 8)
    changed = bytearray(right)
    struct.pack_into(">ii", changed, entry * 8, offset + wrong[0], position + wrong[1])
    index.path.write_bytes(changed)
    index.load()
    log._files.segments._boundaries = Forgetful()
    scene.groups._loader._settings = replace(scene.settings, load_buffer_bytes=1)  # one batch a read
    scene.room.lead(2, isr=(1,), topic_partition=scene.tp())
    await scene.room.until(lambda: scene.groups.partitions.get(scene.tp().partition).is_loaded)
    assert (await scene.fetch("t"), await scene.fetch("u")) == (7, 9)
    if not is_damaged and wrong in ((0, 7), (0, -100)):
        assert index.path.read_bytes() == right
