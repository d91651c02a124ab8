"""The repair of a damaged replica: another leads, and the damaged range is fetched again."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.checkpoints import CLEANER_OFFSET, read_offsets
from barnabas.broker.disk.errors import CorruptLogError
from barnabas.broker.disk.segment.scrub import DamagedRange
from barnabas.broker.replicas import damage as module
from barnabas.broker.replicas.damage import DamagedReplicas
from barnabas.broker.replicas.interface import FetchPartition
from barnabas.broker.replicas.read import Reader
from barnabas.broker.replicas.repair import RangeUnavailableError
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.elections import (
    ElectionResult,
    ElectionType,
    ElectLeaders,
    ElectLeadersResult,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.supervisor import Supervisor
from tests.batches import whole_batches
from tests.unit.broker.replicas.conftest import fetching

TP = TopicPartition("t", 0)


@pytest.fixture
def log_config():
    return LogConfig(segment_bytes=100, segment_index_bytes=16 * 1024)


class Controller:
    """Takes elections down, and answers as it is told to."""

    def __init__(self, then=lambda: None):
        self.asked, self.answer = [], ElectionResult(ErrorCode.NONE, leader=2)
        self.then = then

    async def submit(self, command, _timeout_ms):
        self.asked.append(command)
        self.then()
        if isinstance(self.answer, Refused):
            return self.answer
        return ElectLeadersResult({TP: self.answer})


@pytest.fixture
async def damaged(room, monkeypatch):
    """What handles damage; what it fetches is taken down in ``fetched``, and comes from nowhere."""
    monkeypatch.setattr(module, "FIRST_BACK_OFF_S", 0.001)
    supervisor = Supervisor(lambda name, error: pytest.fail(f"{name}: {error!r}"))
    metrics = Metrics()
    made = DamagedReplicas(room.hosted, room.metadata, supervisor, metrics)
    made.fetched, made.counted = [], metrics.damaged_segments._value

    async def fetch_again(partition, span, _first_dirty, dirty_from, *, source, session_timeout_ms):
        made.fetched.append((span.base_offset, source.port))
        await dirty_from(span.base_offset)
        made.rows = read_offsets(partition.log.directory.parent / CLEANER_OFFSET)
        if made.fails:
            raise RangeUnavailableError("test", is_damaged=made.fails == "damaged")
        partition.log._files.segments.from_offset(span.base_offset)[0].damaged = ()
        return span.base_offset

    made.fails, made.rows = False, {}
    monkeypatch.setattr(module, "fetch_again", fetch_again)
    yield made
    await made.close()
    await supervisor.close(5)


def fill(room, isr=(1, 2, 3)):
    """Four records in a segment each, all committed."""
    partition = room.lead(isr=isr)
    for value in (b"a", b"b", b"c", b"d"):
        room.write(partition, value)
    partition.replica.high_watermark = 4
    room.know(TP)
    return partition


def hurt(partition, number):
    with partition.log.spans()[number].path.open("r+b") as file:
        file.seek(12)
        file.write(bytes(50))


async def test_a_leader_hands_over_and_fetches_from_the_next_one(room, damaged, caplog):
    partition = fill(room)
    damaged.controller = Controller(then=lambda: room.follow(leader=2, epoch=1))
    hurt(partition, 1)
    await damaged.scrub.check_all()
    await room.until(lambda: not damaged._repairs)
    assert damaged.controller.asked == [ElectLeaders(ElectionType.DAMAGED_LEADER, (TP,), 1)]
    assert damaged.fetched == [(1, 9002)]
    assert damaged.counted.get() == 1


async def test_a_follower_fetches_from_its_leader(room, damaged):
    partition = fill(room)
    room.follow(leader=3, epoch=1)
    hurt(partition, 0)
    await damaged.scrub.check_all()
    await room.until(lambda: not damaged._repairs)
    assert damaged.fetched == [(0, 9003)]


async def test_a_leader_alone_in_sync_fetches_from_a_follower_whose_log_agrees_so_far(room, damaged):
    partition = fill(room, isr=(1,))
    damaged.controller = Controller()
    partition.replica.remote(3).log_end_offset = 2
    hurt(partition, 1)
    hurt(partition, 2)
    await damaged.scrub.check_all()
    await room.until(lambda: damaged.fetched)
    assert damaged.controller.asked == []
    assert damaged.fetched == [(1, 9003)]
    await room.until(lambda: len(partition.log.damaged_spans()) == 1)
    partition.replica.remote(2).log_end_offset = 4
    await room.until(lambda: not damaged._repairs)
    assert damaged.fetched == [(1, 9003), (2, 9002)]


async def test_a_controller_that_cannot_help_does_not_keep_it_from_fetching(room, damaged):
    partition = fill(room)
    damaged.controller = Controller()
    damaged.controller.answer = Refused(ErrorCode.NOT_CONTROLLER, "test")
    partition.replica.remote(2).log_end_offset = 4
    hurt(partition, 1)
    await damaged.scrub.check_all()
    await room.until(lambda: not damaged._repairs)
    assert len(damaged.controller.asked) == module.MAX_ELECTIONS
    assert damaged.fetched == [(1, 9002)]


async def test_a_sole_replica_serves_what_it_can_and_tries_on(room, damaged):
    partition = fill(room, isr=(1,))
    hurt(partition, 1)
    await damaged.scrub.check_all()
    reader = Reader(room.hosted)

    def read(offset):
        asked = {TP: FetchPartition(offset, 1000)}
        return fetching(reader, asked, max_wait_ms=0, min_bytes=1, max_bytes=1000).result()[TP]

    assert read(1).error is ErrorCode.CORRUPT_MESSAGE
    assert read(0).error is read(2).error is ErrorCode.NONE
    assert read(2).records
    assert len(damaged._repairs) == 1
    # It is found again by each pass, and counts once.
    await damaged.scrub.check_all()
    assert damaged.counted.get() == 1
    partition.replica.remote(2).log_end_offset = 4
    await room.until(lambda: not damaged._repairs)
    assert damaged.fetched == [(1, 9002)]


async def test_a_reader_that_meets_damage_has_it_checked_and_repaired_at_once(room, damaged):
    partition = fill(room)
    room.follow(leader=2, epoch=1)
    room.lead(epoch=2, isr=(1,))
    partition.replica.remote(3).log_end_offset = 4
    hurt(partition, 2)
    for _ in range(3):
        asked = {TP: FetchPartition(2, 1000)}
        found = fetching(Reader(room.hosted), asked).result()[TP]
        assert found.error is ErrorCode.CORRUPT_MESSAGE
    assert len(damaged._checks) == 1
    await room.until(lambda: damaged.fetched)
    await room.until(lambda: not damaged._repairs)
    assert damaged.fetched == [(2, 9003)]


async def test_the_active_segment_is_sealed_before_it_is_replaced(room, damaged):
    partition = fill(room)
    room.follow(leader=2, epoch=1)
    hurt(partition, 3)
    await damaged.scrub.check_all()
    await room.until(lambda: not damaged._repairs)
    assert damaged.fetched == [(3, 9002)]
    assert [span.base_offset for span in partition.log.spans()] == [0, 1, 2, 3, 4]


async def test_what_may_lack_tombstones_waits_until_it_is_committed_and_is_compacted_again(room, damaged):
    partition = fill(room)
    room.follow(leader=2, epoch=1)
    partition.log.compaction.note_gaps(4)
    room.logs.checkpoint_cleaner_offset(TP, 3)
    partition.replica.high_watermark = 3
    hurt(partition, 1)
    await damaged.scrub.check_all()
    await asyncio.sleep(0)
    assert damaged.fetched == []
    partition.replica.high_watermark = 4
    await room.until(lambda: not damaged._repairs)
    assert damaged.fetched == [(1, 9002)]
    assert damaged.rows == {TP: 1}, "the row on the disk was too high when segments could be replaced"


async def test_what_is_not_committed_yet_waits(room, damaged):
    partition = fill(room)
    room.follow(leader=2, epoch=1)
    partition.replica.high_watermark = 1
    hurt(partition, 1)
    await damaged.scrub.check_all()
    await asyncio.sleep(0)
    assert damaged.fetched == []
    partition.replica.high_watermark = 2
    await room.until(lambda: not damaged._repairs)
    assert damaged.fetched == [(1, 9002)]


async def test_a_partition_that_is_deleted_is_repaired_no_more(room, damaged):
    partition = fill(room, isr=(1,))
    damaged.fails = True
    partition.replica.remote(2).log_end_offset = 4
    hurt(partition, 1)
    await damaged.scrub.check_all()
    await room.until(lambda: damaged.fetched)
    room.hosted.remove(TP, delete=True)
    await room.until(lambda: not damaged._repairs)
    assert room.logs.offline == {}


async def test_what_a_follower_does_not_take_is_checked_once(room, damaged):
    partition = fill(room, isr=(1,))
    checked = []
    real = damaged.scrub.check

    async def check(where, span):
        checked.append(span.base_offset)
        return await real(where, span)

    damaged.scrub.check = check
    for _ in range(3):
        room.hosted.on_refetch(partition, 2)
        await room.until(lambda: not damaged._checks)
    assert checked == [2]
    hurt(partition, 1)
    partition.replica.remote(2).log_end_offset = 4
    room.hosted.on_refetch(partition, 1)
    await room.until(lambda: damaged.fetched == [(1, 9002)])


async def test_a_ruined_segment_is_logged_in_few_lines(room, damaged):
    partition = fill(room, isr=(1,))
    ranges = tuple(DamagedRange(n, n + 1, 0, 1) for n in range(50))
    with capture_logs() as said:
        damaged.found(partition, partition.log.spans()[0], ranges)
    assert len([line for line in said if line["log_level"] == "error"]) == module.MAX_LOGGED + 1


async def test_the_active_segment_is_sealed_so_that_the_index_tells_what_follows_the_damage(room, damaged):
    partition = room.lead(isr=(1,))
    partition.log.config = replace(partition.log.config, segment_bytes=1 << 20, index_interval_bytes=1)
    for values in ((b"a", b"b"), (b"c", b"d"), (b"e", b"f"), (b"g", b"h")):
        room.write(partition, *values)
    size = partition.log.size // 4
    with partition.log.spans()[0].path.open("r+b") as file:
        file.seek(size)
        file.write(bytes(size))
    room.hosted.on_corrupt(partition, CorruptLogError(partition.log.spans()[0].path, size, Offset(2), "test"))
    await room.until(partition.log.damaged_spans)
    (lost,) = partition.log.damage_in(partition.log.spans()[0])
    assert (lost.first_offset, lost.end_offset) == (2, 4)
    # The index entry before it leads to the damage.
    records = partition.log.read(Offset(4), 1 << 20, Offset(8)).records
    assert [batch.header.base_offset for batch in whole_batches(records)] == [4, 6]


async def test_a_replica_can_be_repaired_while_another_is_in_sync_or_has_the_offsets(room, damaged):
    partition = fill(room, isr=(1, 2))
    span = partition.log.spans()[1]
    assert room.hosted.is_repairable(partition, span)
    partition = room.lead(1, isr=(1,))
    assert not room.hosted.is_repairable(partition, span)
    partition.replica.remote(3).log_end_offset = span.end_offset
    assert room.hosted.is_repairable(partition, span)


async def test_replicas_that_are_damaged_too_cannot_repair(room, damaged):
    partition = fill(room, isr=(1,))
    damaged.fails = "damaged"
    partition.replica.remote(3).log_end_offset = 4
    hurt(partition, 1)
    assert room.hosted.is_repairable(partition, partition.log.spans()[1])
    await damaged.scrub.check_all()
    await room.until(lambda: not room.hosted.is_repairable(partition, partition.log.spans()[1]))
    assert damaged.fetched[0] == (1, 9003)
    assert room.hosted.is_repairable(partition, partition.log.spans()[2]), "this one was not asked for"
    partition.replica.remote(2).log_end_offset = 4
    assert room.hosted.is_repairable(partition, partition.log.spans()[1]), "another replica may have it"


async def test_a_leader_is_not_replaced_by_a_replica_that_is_damaged_too(room, damaged):
    partition = fill(room, isr=(1, 2))
    damaged.controller, damaged.fails = Controller(), "damaged"
    partition.replica.remote(2).log_end_offset = 4
    hurt(partition, 1)
    await damaged.scrub.check_all()
    span = partition.log.spans()[1]
    await room.until(lambda: not room.hosted.is_repairable(partition, span))
    assert not await damaged._elect_other_leader(partition, span)
    assert len(damaged.controller.asked) == module.MAX_ELECTIONS


async def test_a_replica_that_does_not_answer_may_still_have_the_offsets(room, damaged):
    partition = fill(room, isr=(1,))
    damaged.fails = True
    partition.replica.remote(3).log_end_offset = 4
    hurt(partition, 1)
    await damaged.scrub.check_all()
    await room.until(lambda: len(damaged.fetched) == 10)
    assert room.hosted.is_repairable(partition, partition.log.spans()[1])


async def test_a_segment_that_nobody_has_keeps_no_other_from_its_repair(room, damaged, monkeypatch):
    partition = fill(room, isr=(1,))
    whole = module.fetch_again

    async def fetch_again(partition, span, *more, **source):
        damaged.fails = "damaged" if span.base_offset == 1 else False
        return await whole(partition, span, *more, **source)

    monkeypatch.setattr(module, "fetch_again", fetch_again)
    partition.replica.remote(3).log_end_offset = 4
    hurt(partition, 1)
    hurt(partition, 2)
    await damaged.scrub.check_all()
    await room.until(lambda: (2, 9003) in damaged.fetched)
    assert [span.base_offset for span in partition.log.damaged_spans()] == [1]
