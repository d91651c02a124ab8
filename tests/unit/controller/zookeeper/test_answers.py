from __future__ import annotations

from types import SimpleNamespace

import pytest

from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.controllership import Controllership
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch, EpochVersion, PartitionVersion
from barnabas.cluster.model.ids import BrokerId, TopicIdentity, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.zk.client.errors import BadVersion, ControllerMoved, NodeExists, NoNode
from barnabas.cluster.zk.client.operations import Change
from barnabas.cluster.zk.client.watches import Watches
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.schema.topics import TopicAssignment
from barnabas.cluster.zk.stores.fence import Fence
from barnabas.cluster.zk.stores.topics import EntityConfigs
from barnabas.controller.core.election.effects import (
    ContestController,
    GiveUpController,
    Lost,
    ReadController,
    RecordBrokers,
    RecordEpoch,
)
from barnabas.controller.core.partitions.effects import (
    CreatePartitionStates,
    ReadPartitionStates,
    ReadTopicConfigs,
    WatchPartitionStates,
    WritePartitionStates,
)
from barnabas.controller.core.protocol.broker_znodes import (
    DeleteIsrChanges,
    IsrChanges,
    ReadBrokers,
    ReadIsrChanges,
)
from barnabas.controller.core.protocol.effects import Ask, ControllerFence
from barnabas.controller.core.topics.effects import CreateTopic, ReadAssignments, ReadTopics, TopicRead
from barnabas.controller.zookeeper.answers import ZooKeeperAnswers

T0, T1, T2 = (TopicPartition("t", n) for n in range(3))
CONTROLLER_FENCE, FENCE = (
    ControllerFence(ControllerEpoch(3), EpochVersion(5)),
    Fence(ControllerEpoch(3), EpochVersion(5)),
)
OWN = paths.broker(BrokerId(1))
LED = LeaderAndIsr.initial(BrokerId(1), (BrokerId(1),))
STATE = PartitionState(LED, ControllerEpoch(3))


class Table:
    """A store whose methods answer what a test lays down, and note how they were called."""

    def __init__(self, **answers):
        self.calls = []
        self._answers = answers

    def __getattr__(self, name):
        async def method(*arguments, **options):
            self.calls.append((name, arguments, options))
            answer = self._answers[name]
            if isinstance(answer, Exception):
                raise answer
            return answer(*arguments) if callable(answer) else answer

        return method


class Book(Watches):
    """A session's book of watches, which notes what it is to forget."""

    forgotten: tuple[str, ...] = ()

    def forget(self, *paths):
        super().forget(*paths)
        self.forgotten = paths


def inquiry(**tables):
    """With the book of watches of its session."""
    watches = Book()
    session = SimpleNamespace(watched=watches.paths, unwatch=watches.forget)
    store = SimpleNamespace(session=session, controller=tables.pop("controller", None), **tables)
    return ZooKeeperAnswers(store, BrokerId(1)), watches


async def test_the_race():
    nobody = Controllership(None, ControllerEpoch(2))
    table = Table(look=nobody, elect=FENCE, give_up=None)
    cluster = Table(disable_features=None)
    asking, _ = inquiry(controller=table, cluster=cluster)
    assert await asking.answer(ReadController()) == nobody
    assert await asking.answer(ContestController(None, ControllerEpoch(2))) == CONTROLLER_FENCE
    assert [name for name, _, _ in cluster.calls] == ["disable_features"]
    assert await asking.answer(GiveUpController()) is None
    assert [name for name, _, _ in table.calls] == ["look", "elect", "give_up"]


async def test_the_record():
    table = Table(record_epoch={BrokerId(1): BrokerEpoch(7)}, record_brokers=None)
    asking, _ = inquiry(controller=table)
    assert await asking.answer(RecordEpoch(CONTROLLER_FENCE)) == {1: 7}
    assert await asking.answer(RecordBrokers({BrokerId(1): BrokerEpoch(8)}, CONTROLLER_FENCE)) is None
    assert [arguments for _, arguments, _ in table.calls] == [(FENCE,), ({1: 8}, FENCE)]


async def test_who_has_lost_the_race_leaves_the_features_alone():
    cluster = Table()
    asking, _ = inquiry(controller=Table(elect=ControllerMoved("3 won")), cluster=cluster)
    assert await asking.answer(ContestController(None, ControllerEpoch(2))) == Lost()
    assert cluster.calls == []


async def test_what_is_read_is_watched():
    one = Broker(BrokerId(1), BrokerEpoch(4), ())
    brokers = Table(ids=[BrokerId(1)], read={BrokerId(1): one})
    assignment = {0: Assignment((BrokerId(1),))}
    topics = Table(names={"t"}, tree=1700, read={"t": TopicAssignment(assignment, czxid=8)})
    notes = Table(pending={})
    notes.path = "/isr_change_notification"
    asking, _ = inquiry(brokers=brokers, topics=topics, isr_changes=notes, controller=Table(look=None))
    await asking.answer(ReadController())
    assert await asking.answer(ReadBrokers()) == {BrokerId(1): one}
    assert await asking.answer(ReadTopics()) == frozenset({"t"})
    read = TopicRead(assignment, TopicIdentity(1700, 8))
    assert await asking.answer(ReadAssignments(("t",))) == {"t": read}
    await asking.answer(ReadIsrChanges())
    calls = [call for table in (brokers, topics, notes) for call in table.calls]
    watched = [options for name, _, options in calls if name != "tree"]
    assert watched == [{"watch": True}] * 5


async def test_a_topic_of_an_unknown_tree_has_no_identity():
    topics = Table(tree=None, read={"t": TopicAssignment({}, czxid=8)})
    asking, _ = inquiry(topics=topics)
    assert await asking.answer(ReadAssignments(("t",))) == {"t": TopicRead({}, None)}


async def test_all_watches_of_the_controller_end_and_those_of_every_broker_stay():
    asking, watches = inquiry()
    for_a_reign = [
        paths.BROKER_IDS,
        paths.broker(BrokerId(2)),
        paths.TOPICS,
        paths.topic("t"),
        paths.partition_state(T0),
        paths.DELETE_TOPICS,
        paths.REASSIGN_PARTITIONS,
        paths.PREFERRED_REPLICA_ELECTION,
        paths.ISR_CHANGE_NOTIFICATION,
        paths.LOG_DIR_EVENT_NOTIFICATION,
    ]
    for path in (paths.CONTROLLER, paths.CONFIG_CHANGES, *for_a_reign):
        watches.add(path, children=False)
    asking.stop_watching()
    assert watches.paths() == [paths.CONFIG_CHANGES, paths.CONTROLLER]


async def test_the_registration_of_this_broker_stays_watched():
    """The broker itself hears of its end, whether or not it is controller."""
    asking, watches = inquiry()
    watches.add(OWN, children=False)
    asking.stop_watching()
    assert watches.paths() == [OWN]


async def test_what_is_no_more_is_kept_nowhere():
    """Brokers that come and go, topics, partitions that move: a controller may act for years."""
    gone = [paths.broker(BrokerId(7)), paths.topic("t"), paths.partition_state(T0)]
    asking, watches = inquiry(partitions=Table(read={T0: STATE}))
    await asking.answer(WatchPartitionStates((T0,)))
    for path in gone:
        watches.add(path, children=False)
        watches.fire(path, Change.DELETED)
    asking.stop_watching()
    assert watches.forgotten == ()


async def test_states_that_cannot_be_read_are_left_out():
    def read(some):
        if T1 in some:
            raise ZnodeDecodeError("/t/1", b"?", "JSON")
        return dict.fromkeys(some, STATE)

    asking, _ = inquiry(partitions=Table(read=read))
    assert await asking.answer(ReadPartitionStates((T0, T1, T2))) == {T0: STATE, T2: STATE}


async def test_settings_that_are_not_there_are_none_and_unreadable_ones_unknown():
    bad = ZnodeDecodeError("/config/topics/bad", b"?", "JSON")
    asking, _ = inquiry(topics=Table(configs=EntityConfigs({"set": {"k": "v"}}, {"bad": bad})))
    answer = await asking.answer(ReadTopicConfigs(("set", "bad", "unset")))
    assert answer == {"set": {"k": "v"}, "unset": {}}


async def test_writes_come_back_as_done_conflicting_and_failed():
    results = {T0: LED.written_as(PartitionVersion(1)), T1: BadVersion("/1"), T2: NoNode("/2")}
    table = Table(update=results)
    asking, _ = inquiry(partitions=table)
    answer = await asking.answer(WritePartitionStates({T0: STATE, T1: STATE, T2: STATE}, CONTROLLER_FENCE))
    assert answer.versions == {T0: 1}
    assert answer.conflicts == {T1}
    assert answer.failures == {
        T2: "org.apache.zookeeper.KeeperException$NoNodeException: KeeperErrorCode = NoNode for /2"
    }
    ((_, (states, fence), _),) = table.calls
    assert (states[T0], fence) == (LED, FENCE)


async def test_creations():
    asking, _ = inquiry(partitions=Table(create={T0: LED, T1: NodeExists("/1")}))
    answer = await asking.answer(CreatePartitionStates({T0: STATE, T1: STATE}, CONTROLLER_FENCE))
    assert answer[T0] is None
    assert answer[T1].endswith("KeeperErrorCode = NodeExists for /1")


async def test_a_topic_is_created_once():
    creation = CreateTopic("t", {}, {"k": "v"}, CONTROLLER_FENCE)
    table = Table(create=None)
    asking, _ = inquiry(topics=table)
    assert await asking.answer(creation) is True
    assert table.calls == [("create", ("t", {}, {"k": "v"}, FENCE), {})]
    asking, _ = inquiry(topics=Table(create=NodeExists("/t")))
    assert await asking.answer(creation) is False


async def test_notes_name_each_partition_once_and_unreadable_ones_none():
    pending = {"a": (T0, T1), "b": ZnodeDecodeError("/b", b"?", "JSON"), "c": (T1,)}
    notes = Table(pending=pending, delete=None)
    notes.path = "/isr_change_notification"
    asking, _ = inquiry(isr_changes=notes)
    assert await asking.answer(ReadIsrChanges()) == IsrChanges(("a", "b", "c"), (T0, T1))
    assert await asking.answer(DeleteIsrChanges(("a",), CONTROLLER_FENCE)) is None
    assert notes.calls[-1] == ("delete", (("a",), FENCE), {})


async def test_a_question_without_answer_is_named():
    asking, _ = inquiry()
    with pytest.raises(TypeError, match=r"Ask\(\)"):
        await asking.answer(Ask())
