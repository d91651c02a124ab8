from __future__ import annotations

import pytest

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.zk.client.operations import Change, WatchEvent
from barnabas.controller.core.protocol.inputs import (
    BrokerChange,
    BrokerModifications,
    ControllerChange,
    IsrChangeNotification,
    LogDirEventNotification,
    PartitionModifications,
    PartitionReassignmentIsrChange,
    ReplicaLeaderElection,
    TopicChange,
    ZkPartitionReassignment,
)
from barnabas.controller.zookeeper.watches import Coalescer, input_of, is_watched_by_active_controller_only


@pytest.mark.parametrize(
    ("path", "change", "meant"),
    [
        ("/controller", Change.CREATED, ControllerChange()),
        ("/controller", Change.DELETED, ControllerChange()),
        ("/controller", Change.UNKNOWN, ControllerChange()),
        ("/brokers/ids", Change.CHILDREN, BrokerChange()),
        ("/brokers/ids/4", Change.DATA, BrokerModifications(BrokerId(4))),
        ("/brokers/ids/4", Change.UNKNOWN, BrokerModifications(BrokerId(4))),
        ("/brokers/ids/4", Change.DELETED, None),
        ("/brokers/topics", Change.CHILDREN, TopicChange()),
        ("/brokers/topics/a.b-c", Change.DATA, PartitionModifications("a.b-c")),
        ("/brokers/topics/t", Change.DELETED, None),
        ("/isr_change_notification", Change.CHILDREN, IsrChangeNotification()),
        ("/log_dir_event_notification", Change.CHILDREN, LogDirEventNotification()),
        ("/admin/reassign_partitions", Change.CREATED, ZkPartitionReassignment()),
        ("/admin/reassign_partitions", Change.DELETED, ZkPartitionReassignment()),
        (
            "/brokers/topics/a.b-c/partitions/12/state",
            Change.DATA,
            PartitionReassignmentIsrChange((TopicPartition("a.b-c", 12),)),
        ),
        ("/brokers/topics/t/partitions/0/state", Change.DELETED, None),
        ("/admin/preferred_replica_election", Change.CREATED, ReplicaLeaderElection()),
        ("/admin/preferred_replica_election", Change.DELETED, ReplicaLeaderElection()),
        ("/config/changes", Change.CHILDREN, None),
    ],
)
def test_what_an_event_means(path, change, meant):
    assert input_of(WatchEvent(path, change)) == meant


@pytest.mark.parametrize(
    ("path", "alone"),
    [
        ("/controller", False),
        ("/config/changes", False),
        ("/brokers/ids", True),
        ("/brokers/topics/t", True),
        ("/brokers/topics/t/partitions/0/state", True),
        ("/admin/delete_topics", True),
    ],
)
def test_what_only_the_active_controller_watches(path, alone):
    assert is_watched_by_active_controller_only(path) is alone


def test_an_event_that_waits_is_not_queued_again():
    coalescer = Coalescer()
    assert coalescer.admits(TopicChange())
    assert not coalescer.admits(TopicChange())
    assert coalescer.admits(PartitionModifications("t"))
    assert coalescer.admits(PartitionModifications("u"))
    coalescer.taken(TopicChange())
    assert coalescer.admits(TopicChange())


def test_partitions_that_are_being_reassigned_share_an_entry():
    """Each of 10,000 entries read and wrote the znode of the whole topic."""
    first, second = TopicPartition("t", 0), TopicPartition("u", 1)
    coalescer = Coalescer()
    assert coalescer.admits(PartitionReassignmentIsrChange((first,)))
    assert not coalescer.admits(PartitionReassignmentIsrChange((second,)))
    assert not coalescer.admits(PartitionReassignmentIsrChange((first,)))
    waiting = PartitionReassignmentIsrChange((first,))
    assert coalescer.taken(waiting) == PartitionReassignmentIsrChange((first, second))
    assert coalescer.admits(waiting)
    assert coalescer.taken(waiting) == waiting
