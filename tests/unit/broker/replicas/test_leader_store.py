from types import SimpleNamespace

from barnabas.broker.replicas.leader_store import PARTITIONS_PER_NOTIFICATION, LeaderStore
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.zk.client.operations import MAXIMUM_REQUEST_BYTES, Create, request_bytes
from barnabas.cluster.zk.schema.admin import encode_partitions
from barnabas.cluster.zk.schema.body import ZnodeDecodeError

TP = TopicPartition("t", 0)
STATE = PartitionState(LeaderAndIsr(1, 3, (1, 2), 5), 9)


class Partitions:
    async def update_as_leader(self, tp, state, controller_epoch):
        assert (tp, state, controller_epoch) == (TP, STATE.leader_and_isr, 9)
        return state.written_as(6)

    async def read(self, partitions):
        return {TP: STATE} if list(partitions) == [TP] else {}


class Notes:
    def __init__(self):
        self.left = []

    async def add(self, note):
        self.left.append(note)


def store(notes=None):
    return LeaderStore(SimpleNamespace(partitions=Partitions(), isr_changes=notes))


async def test_a_state_is_written_under_its_version_and_controller_epoch():
    assert await store().write_partition_state(TP, STATE) == 6


async def test_a_state_is_read():
    assert await store().read_partition_state(TP) == STATE
    assert await store().read_partition_state(TopicPartition("t", 1)) is None


async def test_a_state_that_cannot_be_read_is_none():
    class Unreadable:
        async def read(self, _partitions):
            raise ZnodeDecodeError("/brokers/topics/t/partitions/0/state", b"{", "JSON")

    assert await LeaderStore(SimpleNamespace(partitions=Unreadable())).read_partition_state(TP) is None


async def test_changes_are_announced():
    notes = Notes()
    await store(notes).announce_isr_changes([TP])
    assert notes.left == [[TP]]


async def test_each_note_fits_into_a_znode_and_all_of_them_name_every_change():
    notes = Notes()
    changed = [TopicPartition("t" * 249, number) for number in range(2 * PARTITIONS_PER_NOTIFICATION + 1)]
    await store(notes).announce_isr_changes(changed)
    assert [len(note) for note in notes.left] == [PARTITIONS_PER_NOTIFICATION, PARTITIONS_PER_NOTIFICATION, 1]
    assert [tp for note in notes.left for tp in note] == changed
    assert all(
        request_bytes(Create("/n", encode_partitions(note))) < MAXIMUM_REQUEST_BYTES for note in notes.left
    )


class Topics:
    """Topics of which one is spoiled."""

    async def names(self):
        return {"t", "spoiled"}

    async def read(self, names):
        (name,) = names
        if name == "spoiled":
            raise ZnodeDecodeError("/brokers/topics/spoiled", b"{", "JSON")
        return {"t": SimpleNamespace(partitions={0: Assignment((1, 2))})} if name == "t" else {}


async def test_unreadable_assignments_are_distinguished_from_readable_ones():
    store = LeaderStore(SimpleNamespace(topics=Topics()))
    assert await store.topic_names() == {"t", "spoiled"}
    assert await store.assignments_of("t") == {0: Assignment((1, 2))}
    assert await store.assignments_of("spoiled") is None
    assert await store.assignments_of("gone") is None
