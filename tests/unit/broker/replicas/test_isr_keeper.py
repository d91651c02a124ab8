"""ISR changes reach ZooKeeper, whatever its answers; the outcomes themselves are core.replica's."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from barnabas.broker.core.replication.isr import SessionContact
from barnabas.broker.replicas import isr_keeper
from barnabas.broker.replicas.hosted import monotonic_ms
from barnabas.broker.replicas.isr_keeper import IsrKeeper
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr, PartitionState
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.supervisor import Supervisor
from barnabas.cluster.zk.client.errors import BadVersion, NoNode, ZooKeeperTimeout

TP = TopicPartition("t", 0)


class Script:
    """Answers each write with the next outcome: a version, or an error to raise."""

    def __init__(self):
        self.outcomes = []
        self.written = []
        self.stands = None
        self.announced = []
        self.announcement_fails = 0

    async def write_partition_state(self, topic_partition, state):
        self.written.append((topic_partition, state))
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def read_partition_state(self, _topic_partition):
        return self.stands

    async def announce_isr_changes(self, topic_partitions):
        if self.announcement_fails:
            self.announcement_fails -= 1
            raise ZooKeeperTimeout("test")
        self.announced.append(tuple(topic_partitions))


@pytest.fixture
def script():
    return Script()


@pytest.fixture
async def supervisor():
    deaths = []
    supervisor = Supervisor(lambda name, error: deaths.append((name, error)))
    yield supervisor
    await supervisor.close(5)
    assert deaths == []


@pytest.fixture
def keeper(room, script, supervisor, monkeypatch):
    monkeypatch.setattr(isr_keeper, "RETRY_MS", 1)
    return IsrKeeper(room.hosted, lambda: script, supervisor, Metrics())


@pytest.fixture
def lagging(room):
    """Led here; follower 2 has all, follower 3 has been behind for long."""
    partition = room.lead()
    room.write(partition, b"a")
    now = monotonic_ms()
    for follower, offset in ((2, 1), (3, 0)):
        partition.replica.follower_fetched(
            follower, offset, log_start_offset=0, log_end_offset=1, now_ms=now, session=None
        )
    partition.replica.remote(3).caught_up_ms = now - 10_000
    return partition


def fetch(partition, follower):
    now = monotonic_ms()
    return partition.replica.follower_fetched(
        follower, 0, log_start_offset=0, log_end_offset=0, now_ms=now, session=SessionContact(now)
    )


async def test_a_shrink_is_written_counted_and_moves_the_high_watermark(
    room, *, keeper, script, supervisor, lagging
):
    """KAFKA-13091: after a shrink the high watermark waited for the next fetch."""
    script.outcomes = [1]
    keeper.check(lagging)
    await room.until(lambda: not supervisor.names)
    ((name, state),) = script.written
    assert (name, state) == (TP, PartitionState(LeaderAndIsr(1, 0, (1, 2), 0), 1))
    assert (lagging.replica.isr, lagging.replica.version, lagging.replica.high_watermark) == ((1, 2), 1, 1)
    assert keeper._metrics.isr_shrinks._value.get() == 1


async def test_an_expansion(room, keeper, script, supervisor):
    partition = room.lead(isr=(1, 2))
    script.outcomes = [1]
    fetch(partition, 3)
    with capture_logs() as said:
        keeper.follower_may_join(partition, 3)
        await room.until(lambda: not supervisor.names)
    assert said[-1]["event"] == "[Partition t-0 broker=1] ISR updated to 1,2,3 and version updated to [1]"
    assert partition.replica.isr == (1, 2, 3)
    assert keeper._metrics.isr_expands._value.get() == 1


async def test_it_goes_on_while_zookeeper_is_away(room, *, keeper, script, supervisor, lagging):
    script.outcomes = [ZooKeeperTimeout("test"), ZooKeeperTimeout("test"), 1]
    keeper.check(lagging)
    await room.until(lambda: not supervisor.names)
    assert len(script.written) == 3
    assert lagging.replica.isr == (1, 2)


async def test_it_gives_up_when_an_order_overtakes_it(room, *, keeper, script, supervisor, lagging):
    script.outcomes = [ZooKeeperTimeout("test")] * 100
    keeper.check(lagging)
    await room.until(lambda: script.written)
    room.lead(epoch=1)
    await room.until(lambda: not supervisor.names)
    assert lagging.replica.isr == (1, 2, 3)


async def test_no_isr_is_written_for_a_topic_that_was_deleted(room, *, keeper, script, supervisor, lagging):
    """The state of a topic that is created again under its name has the same version."""
    script.outcomes = [ZooKeeperTimeout("test")] * 100
    keeper.check(lagging)
    await room.until(lambda: script.written)
    room.hosted.remove(TP, delete=True)
    again = room.lead()
    script.outcomes = [1]
    await room.until(lambda: not supervisor.names)
    assert script.outcomes == [1]
    assert again.replica.pending is None


async def test_an_answer_after_the_order_that_overtook_it(room, *, keeper, script, supervisor, lagging):
    class Slow(Script):
        async def write_partition_state(self, topic_partition, state):
            room.lead(epoch=1)
            return 1

    keeper._store = Slow
    keeper.check(lagging)
    await room.until(lambda: not supervisor.names)
    assert (lagging.replica.isr, lagging.replica.version) == ((1, 2, 3), 0)
    assert keeper._metrics.isr_shrinks._value.get() == 0


@pytest.mark.parametrize(
    ("stands", "isr", "version", "pending"),
    [
        (LeaderAndIsr(1, 0, (1, 2), 1), (1, 2), 1, False),
        (LeaderAndIsr(1, 0, (1,), 4), (1,), 4, False),
        (LeaderAndIsr(2, 1, (2,), 4), (1, 2, 3), 0, True),
    ],
    ids=["written before", "adopted", "superseded"],
)
async def test_another_version(room, *, keeper, script, supervisor, lagging, stands, isr, version, pending):
    script.outcomes = [BadVersion("/t")]
    script.stands = PartitionState(stands, 1)
    keeper.check(lagging)
    await room.until(lambda: not supervisor.names)
    replica = lagging.replica
    assert (replica.isr, replica.version, replica.pending is not None) == (isr, version, pending)


async def test_a_version_raised_behind_the_leader_costs_it_one_more_write(
    room, *, keeper, script, supervisor, lagging
):
    """KAFKA-1382, KAFKA-2729: it remembered the old version, and could never again change the ISR."""
    script.outcomes = [BadVersion("/t"), 6]
    script.stands = PartitionState(LeaderAndIsr(1, 0, (1, 2, 3), 5), 1)
    keeper.check(lagging)
    await room.until(lambda: not supervisor.names)
    assert [state.leader_and_isr.version for _, state in script.written] == [0, 5]
    assert (lagging.replica.isr, lagging.replica.version, lagging.replica.pending) == ((1, 2), 6, None)


async def test_a_state_that_is_gone(room, *, keeper, script, supervisor, lagging):
    script.outcomes = [NoNode("/t")]
    keeper.check(lagging)
    await room.until(lambda: not supervisor.names)
    assert lagging.replica.pending is not None


async def test_a_state_that_vanishes_between_write_and_read(room, *, keeper, script, supervisor, lagging):
    script.outcomes = [BadVersion("/t"), NoNode("/t")]
    keeper.check(lagging)
    await room.until(lambda: not supervisor.names)
    assert len(script.written) == 2


async def test_where_no_state_can_be_read_it_pauses_and_gives_up_when_an_order_comes(
    room, *, keeper, script, supervisor, lagging, monkeypatch
):
    pauses = []

    async def pause(seconds):
        pauses.append((seconds, len(script.written)))
        if len(pauses) == 3:
            room.lead(epoch=1)

    script.outcomes = [BadVersion("/t")] * 100
    monkeypatch.setattr(isr_keeper.asyncio, "sleep", pause)
    await keeper._write(lagging, lagging.replica.propose_shrink(1, monotonic_ms()))
    assert pauses == [(0.001, 1), (0.001, 2), (0.001, 3)]
    assert lagging.replica.isr == (1, 2, 3)


async def test_the_next_follower_gets_its_turn_after_a_change(room, keeper, script, supervisor):
    partition = room.lead(isr=(1,))
    script.outcomes = [1, 2]
    for follower in (2, 3):
        if fetch(partition, follower).may_join:
            keeper.follower_may_join(partition, follower)
    await room.until(lambda: not supervisor.names)
    assert partition.replica.isr == (1, 2, 3)


async def test_the_regular_check_and_announcements(room, *, keeper, script, supervisor, lagging, monkeypatch):
    monkeypatch.setattr(isr_keeper, "CHECK_INTERVAL_MS", 1)
    monkeypatch.setattr(keeper._changes, "take_due", lambda _now, take=keeper._changes.take_due: take(10**15))
    object.__setattr__(room.hosted.settings, "lag_time_max_ms", 2)
    script.outcomes, script.announcement_fails = [1], 1
    checking = supervisor.spawn("check", keeper.check_regularly())
    announcing = supervisor.spawn("announce", keeper.announce_changes())
    await room.until(lambda: script.announced)
    assert script.announced == [(TP,)]
    assert lagging.replica.isr == (1, 2)
    checking.cancel()
    announcing.cancel()
