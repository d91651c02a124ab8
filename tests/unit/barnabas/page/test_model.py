"""The changes between two states of a cluster, in words and as data."""

import pytest

from barnabas.cluster.model.ids import TopicPartition
from barnabas.page.history import apply
from barnabas.page.model import (
    BrokerView,
    ClusterState,
    PartitionView,
    broker_json,
    differences,
    partition_json,
)

TP = TopicPartition("orders", 0)
ONE = BrokerView("host:9092", 7)
LED = PartitionView((1, 2, 3), 1, (1, 2, 3), 4, 1)


def snapshot_of(state):
    """A whole state as the page gets it."""
    partitions = {}
    for partition, view in state.partitions.items():
        partitions.setdefault(partition.topic, {})[str(partition.partition)] = partition_json(view)
    return {
        "brokers": {str(broker): broker_json(view) for broker, view in state.brokers.items()},
        "controller": state.controller,
        "epoch": state.controller_epoch,
        "partitions": partitions,
    }


def texts(before, after):
    return [(change.text, change.is_bad) for change in differences(before, after)]


@pytest.mark.parametrize(
    ("before", "after", "text", "is_bad"),
    [
        ({}, {1: ONE}, "Broker 1 registered at host:9092, broker epoch 7", False),
        ({1: ONE}, {1: ONE._replace(epoch=9)}, "Broker 1 registered again: broker epoch 7 -> 9", False),
        ({1: ONE}, {}, "Broker 1 is gone from ZooKeeper: its session ended", True),
    ],
)
def test_brokers(before, after, text, is_bad):
    assert texts(ClusterState(brokers=before), ClusterState(brokers=after)) == [(text, is_bad)]


@pytest.mark.parametrize(
    ("before", "after", "text", "is_bad"),
    [
        ((None, 0), (2, 1), "Broker 2 is controller, epoch 1", False),
        ((2, 1), (None, 1), "There is no controller: broker 2 was it", True),
        ((None, 1), (None, 2), "There is no controller", True),
        ((2, 1), (2, 3), "The controller epoch is 3", False),
    ],
)
def test_the_controller(before, after, text, is_bad):
    states = [ClusterState(controller=broker, controller_epoch=epoch) for broker, epoch in (before, after)]
    assert texts(*states) == [(text, is_bad)]


@pytest.mark.parametrize(
    ("before", "after", "text", "is_bad"),
    [
        (None, LED, "orders-0 was created on brokers 1,2,3", False),
        (LED, None, "orders-0 was deleted", False),
        (
            LED,
            LED._replace(leader=2, isr=(2, 3), leader_epoch=5),
            "orders-0: leader 1 -> 2; ISR 1,2,3 -> 2,3 (without 1); leader epoch 4 -> 5",
            True,
        ),
        (LED, LED._replace(leader=-1), "orders-0: leader 1 -> none", True),
        (LED._replace(isr=(1,)), LED, "orders-0: ISR 1 -> 1,2,3 (with 2,3)", False),
        (LED, LED._replace(replicas=(4, 1, 2, 3), adding=(4,)), "orders-0: replicas 1,2,3 -> 4,1,2,3", False),
    ],
)
def test_partitions(before, after, text, is_bad):
    states = [ClusterState(partitions={} if view is None else {TP: view}) for view in (before, after)]
    assert texts(*states) == [(text, is_bad)]


def test_equal_states_differ_in_nothing():
    state = ClusterState({1: ONE}, 1, 1, {TP: LED})
    assert list(differences(state, state)) == []


def test_the_changes_lead_from_one_snapshot_to_the_other():
    before = ClusterState({1: ONE}, 1, 1, {TP: LED, TP._replace(partition=1): LED})
    after = ClusterState(
        {2: ONE}, 2, 2, {TP: LED._replace(leader=2), TopicPartition("new", 0): PartitionView((2,))}
    )
    snapshot = {**snapshot_of(before), "processes": {}}
    for change in differences(before, after):
        apply(snapshot, change)
    assert snapshot == {**snapshot_of(after), "processes": {}}
    for change in differences(after, ClusterState()):
        apply(snapshot, change)
    assert snapshot["partitions"] == snapshot["brokers"] == {}
