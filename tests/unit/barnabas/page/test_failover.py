"""The last failover, told from the history."""

from dataclasses import replace

import pytest

from barnabas.cluster.model.ids import TopicPartition
from barnabas.page.failover import last_failover
from barnabas.page.history import History
from barnabas.page.model import BrokerView, Change, ClusterState, PartitionView, differences

BROKERS = {number: BrokerView(f"host:{number}", number) for number in (1, 2, 3)}
P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
WHOLE = ClusterState(
    BROKERS,
    3,
    1,
    {P0: PartitionView((3, 1, 2), 3, (3, 1, 2), 0, 1), P1: PartitionView((1, 2, 3), 1, (1, 2, 3), 0, 1)},
)


class Scene:
    def __init__(self):
        self.history = History()
        self.state = ClusterState()
        self.now(0, WHOLE)

    def now(self, at_ms, state):
        self.history.add(at_ms, differences(self.state, state))
        self.state = state

    def act(self, at_ms, text, broker, **data):
        self.history.add(at_ms, [Change("action", text, {"id": broker, **data})])

    def told(self):
        return last_failover(self.history.json()["base"], self.history.entries())


def without_3(state, **changed):
    brokers = {number: view for number, view in state.brokers.items() if number != 3}
    return ClusterState(brokers, changed.get("controller", 1), 2, changed.get("partitions", state.partitions))


MOVED = {
    P0: PartitionView((3, 1, 2), 1, (1, 2), 1, 2),
    P1: PartitionView((1, 2, 3), 1, (1, 2), 1, 2),
}


def test_without_a_loss_there_is_no_failover():
    assert Scene().told() is None


def test_a_failover_from_the_kill_to_the_whole_isr():
    scene = Scene()
    scene.act(10_000, "SIGKILL to broker 3", 3)
    scene.now(13_000, without_3(WHOLE))
    scene.now(13_500, without_3(WHOLE, partitions=MOVED))
    told = scene.told()
    assert told.headline == "Broker 3 was lost; 1 partition moved to a new leader within 3.5 s."
    assert not told.is_over
    assert [(step.at_ms, step.text) for step in told.steps] == [
        (10_000, "SIGKILL to broker 3"),
        (13_000, "Broker 3 is gone from ZooKeeper: its session ended"),
        (13_000, "Broker 1 is controller, epoch 2"),
        (13_500, "orders-0 moved to a new leader (1)"),
        (13_500, "orders-0 lost a member of the ISR, the first of 2"),
        (13_500, "orders-1 lost a member of the ISR, the last of 2"),
    ]
    back = {P0: MOVED[P0]._replace(isr=(1, 2, 3)), P1: MOVED[P1]._replace(isr=(1, 2, 3))}
    scene.now(20_000, ClusterState(BROKERS, 1, 2, back))
    told = scene.told()
    assert told.is_over
    assert told.steps[-1].text == "orders-1 has its whole ISR again, the last of 2"
    assert told.json()["steps"][-1]["after_ms"] == 10_000


def test_a_controlled_stop_begins_with_the_leaders_that_it_moves():
    scene = Scene()
    elected = {P0: WHOLE.partitions[P0]._replace(leader=1, leader_epoch=1), P1: WHOLE.partitions[P1]}
    scene.now(5_000, ClusterState(BROKERS, 3, 1, elected))  # an election that has nothing to do with it
    scene.now(6_000, WHOLE)
    scene.now(10_000, ClusterState(BROKERS, 3, 1, MOVED))
    scene.now(11_000, without_3(WHOLE, partitions=MOVED))
    told = scene.told()
    assert told.headline == "Broker 3 was stopped; 1 partition moved to a new leader within 0.0 s."
    assert [(step.at_ms, step.text) for step in told.steps] == [
        (10_000, "orders-0 moved to a new leader (1)"),
        (10_000, "orders-0 lost a member of the ISR, the first of 2"),
        (10_000, "orders-1 lost a member of the ISR, the last of 2"),
        (11_000, "Broker 3 is gone from ZooKeeper: its session ended"),
        (11_000, "Broker 1 is controller, epoch 2"),
    ]


def test_an_isr_that_a_broker_had_rejoined_is_another_story():
    scene = Scene()
    scene.now(10_000, ClusterState(BROKERS, 3, 1, MOVED))
    scene.now(11_000, WHOLE)
    scene.now(20_000, without_3(WHOLE))
    assert scene.told().steps[0].at_ms == 20_000


def test_a_failover_has_begun_before_a_partition_has_changed():
    scene = Scene()
    scene.now(13_000, without_3(WHOLE))
    told = scene.told()
    assert told.headline == "Broker 3 was lost; 1 of 1 partition not moved to a new leader."
    assert not told.is_over
    followed = ClusterState(BROKERS, 3, 1, {P1: WHOLE.partitions[P1]})
    scene = Scene()
    scene.now(500, followed)
    scene.now(1_000, without_3(followed))
    assert scene.told().headline == "Broker 3 left; no partition lost its leader."
    assert not scene.told().is_over, "broker 3 is still in the ISR of a partition that it followed"


def test_partitions_that_nobody_leads_are_in_the_headline():
    scene = Scene()
    alone = {P0: PartitionView((3,), -1, (3,), 1, 2)}
    scene.now(1_000, without_3(WHOLE, partitions=alone))
    told = scene.told()
    assert told.headline == "Broker 3 was lost; 1 partition still without a leader."
    assert not told.is_over


@pytest.mark.parametrize("isr", [(3,), (3, 2)])
def test_a_clean_stop_without_another_live_replica_in_sync_is_not_called_a_loss(isr):
    scene = Scene()
    last = {P0: PartitionView((3, 2), 3, isr, 1, 2)}
    scene.now(500, ClusterState({1: BROKERS[1], 3: BROKERS[3]}, 1, 1, last))
    scene.now(1_000, ClusterState({1: BROKERS[1]}, 1, 1, last))
    # No controlled shutdown could move its leader.
    assert scene.told().headline.startswith("Brokers 2, 3 left; 1 of 1 partition")


def test_a_broker_that_led_nothing():
    scene = Scene()
    led_by_1 = {P0: WHOLE.partitions[P0]._replace(leader=1, leader_epoch=1), P1: WHOLE.partitions[P1]}
    scene.now(500, ClusterState(BROKERS, 3, 1, led_by_1))
    scene.now(1_000, without_3(scene.state))
    assert scene.told().headline == "Broker 3 left; no partition lost its leader."


@pytest.mark.parametrize(
    ("before", "after", "was"),
    [
        ("action stop", "", "stopped"),
        ("", "state stopped", "stopped"),
        ("action stop, state killed", "", "lost"),
        (
            "state paused, state running",
            "",
            "lost",
        ),  # its partition had no other leader when its session ended
        ("action pause, action resume", "state stopped", "stopped"),
        ("state killed", "state stopped", "lost"),
    ],
)
def test_actions_and_processes_show_whether_a_broker_was_stopped(before, after, was):
    scene = Scene()

    def happen(at_ms, shown):
        for name, value in map(str.split, filter(None, shown.split(", "))):
            kind = "action" if name == "action" else "process"
            scene.history.add(at_ms, [Change(kind, value, {"id": 3, name: value}, is_bad=True)])

    happen(1_000, before)
    scene.now(2_000, without_3(WHOLE))
    happen(3_000, after)
    assert scene.told().headline == f"Broker 3 was {was}; 1 of 1 partition not moved to a new leader."


def test_brokers_that_were_lost_together():
    scene = Scene()
    scene.now(1_000, without_3(WHOLE))
    scene.now(2_000, replace(scene.state, brokers={2: BROKERS[2]}))
    assert scene.told().headline.startswith("Brokers 3, 1 were lost; 2 of 2 partitions not moved")
    scene.act(3_000, "SIGTERM to broker 2", 2, action="stop")
    scene.now(4_000, replace(scene.state, brokers={}))
    assert scene.told().headline.startswith("Brokers 3, 1 were lost, broker 2 was stopped; 2 of 2 partitions")


def test_a_broker_that_returns_before_anything_moved():
    scene = Scene()
    scene.now(1_000, without_3(WHOLE))
    assert scene.told().headline == "Broker 3 was lost; 1 of 1 partition not moved to a new leader."
    scene.now(2_000, WHOLE)
    assert scene.told().headline == "Broker 3 was lost; 1 partition waited for the leader to return."


def test_losses_close_together_are_one_failover_and_earlier_ones_another():
    scene = Scene()
    scene.now(1_000, without_3(WHOLE))
    scene.now(60_000, WHOLE)
    scene.now(100_000, without_3(WHOLE))
    only_1 = ClusterState({1: BROKERS[1]}, 1, 2, MOVED)
    scene.now(110_000, only_1)
    assert scene.told().headline.startswith("Broker 3 was lost, broker 2 left; 1 partition")
    assert scene.told().steps[0].at_ms == 100_000


def test_what_is_deleted_meanwhile_is_not_waited_for():
    scene = Scene()
    scene.now(1_000, without_3(WHOLE, partitions={P1: MOVED[P1]}))
    assert scene.told().headline == "Broker 3 was lost; no partition lost its leader."


def test_the_leaders_before_the_history_begins_come_from_its_snapshot():
    base = {"partitions": {"orders": {"0": [3, 0, [3, 1, 2], 1], "1": [1, 0, [1, 2, 3], 1]}}}
    history = History()
    history.add(13_000, differences(WHOLE, without_3(WHOLE, partitions=MOVED)))
    told = last_failover(base, history.entries())
    assert told.headline == "Broker 3 was lost; 1 partition moved to a new leader within 0.0 s."


def test_topics_that_come_and_go_meanwhile_are_no_part_of_it():
    scene = Scene()
    short = TopicPartition("short", 0)
    alone = replace(WHOLE, partitions={**WHOLE.partitions, short: PartitionView((2,), 2, (2,), 0, 1)})
    scene.now(5_000, alone)
    scene.now(6_000, WHOLE)
    scene.now(10_000, without_3(WHOLE))
    scene.now(11_000, without_3(WHOLE, partitions={**MOVED, short: PartitionView((2,), 2, (2,), 0, 1)}))
    scene.now(12_000, without_3(WHOLE, partitions=MOVED))
    told = scene.told()
    assert told.steps[0].text == "Broker 3 is gone from ZooKeeper: its session ended"
    assert not [step for step in told.steps if "short" in step.text]


def test_an_isr_that_grows_without_the_lost_broker_is_not_whole_before_it_shrank():
    scene = Scene()
    small = {P0: PartitionView((3, 1, 2), 3, (3, 1), 0, 1)}
    scene.now(5_000, ClusterState(BROKERS, 3, 1, small))
    scene.now(10_000, without_3(WHOLE, partitions=small))
    grown = {P0: small[P0]._replace(isr=(3, 1, 2))}
    scene.now(11_000, without_3(WHOLE, partitions=grown))
    assert not [step for step in scene.told().steps if "ISR" in step.text]
