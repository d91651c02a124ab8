"""What UpdateMetadata leaves behind."""

from __future__ import annotations

from dataclasses import replace

from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.ids import LEADER_DURING_DELETE, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import UpdateMetadataPartition, UpdateMetadataRequest


def partition(topic, number, leader=1, epoch=0):
    state = PartitionState(LeaderAndIsr(leader, epoch, (1, 2)), 1)
    return UpdateMetadataPartition(TopicPartition(topic, number), state, (1, 2))


def request(partitions=(), brokers=(1, 2)):
    return UpdateMetadataRequest(1, 1, 1, tuple(partitions), tuple(Broker(i, 10 + i, ()) for i in brokers))


def test_partitions_are_merged_and_brokers_replaced():
    cache = MetadataCache()
    first, second, newer = partition("t", 0), partition("t", 1), partition("t", 0, leader=2, epoch=1)
    assert cache.apply(request([first, second])).cached == (first, second)
    cache.apply(request([newer], brokers=(2,)))
    assert cache.partitions("t") == {0: newer, 1: second}
    assert cache.partition(TopicPartition("t", 0)) is newer
    assert [broker.id for broker in cache.live_brokers] == [2]
    assert cache.broker(1) is None
    assert cache.broker(2).epoch == 12
    assert list(cache.topics) == ["t"]
    assert cache.partition_count == 2


def test_it_is_complete_once_a_controller_has_said_so():
    cache = MetadataCache()
    cache.apply(request([partition("t", 0)]))
    assert not cache.is_complete
    cache.apply(replace(request(), is_complete=True))
    cache.apply(request([partition("t", 1)]))
    assert cache.is_complete


def test_what_a_new_controller_does_not_name_is_forgotten_when_its_list_is_complete():
    """ZooKeeper was wiped under a live cluster, and nobody deleted the topics that are gone."""
    cache = MetadataCache()
    cache.apply(request([partition("t", 0), partition("t", 1), partition("u", 0), partition("v", 0)]))
    begun = replace(request([partition("t", 0)]), controller_epoch=2)
    assert cache.apply(begun).removed == ()
    assert cache.apply(replace(begun, partitions=(partition("w", 0),))).removed == ()
    assert sorted(cache.topics) == ["t", "u", "v", "w"]
    gone = partition("v", 0, leader=LEADER_DURING_DELETE)
    change = cache.apply(replace(begun, partitions=(partition("u", 0), gone), is_complete=True))
    assert (change.deleted, change.lost) == ((TopicPartition("v", 0),), (TopicPartition("t", 1),))
    assert sorted(cache.topics) == ["t", "u", "w"]
    assert list(cache.partitions("t")) == [0]
    # A list for other brokers, or one sent again, need not name what came since.
    cache.apply(replace(begun, partitions=(partition("x", 0),)))
    assert cache.apply(replace(begun, partitions=(), is_complete=True)).removed == ()


def test_what_changes_without_a_new_leader_epoch_is_taken_over():
    """KAFKA-12367, KAFKA-13132: where the leader epoch was the same, the news was dropped."""
    cache = MetadataCache()
    cache.apply(request([partition("t", 0)]))
    shrunk = PartitionState(LeaderAndIsr(1, 0, (1,), 1), 1)
    later = UpdateMetadataPartition(TopicPartition("t", 0), shrunk, (1, 2))
    assert cache.apply(request([later])).cached == (later,)
    known = cache.partition(TopicPartition("t", 0)).state.leader_and_isr
    assert (known.isr, known.version) == ((1,), 1)


def test_a_topic_being_deleted_is_forgotten():
    cache = MetadataCache()
    cache.apply(request([partition("t", 0), partition("u", 0)]))
    change = cache.apply(request([partition("t", 0, leader=LEADER_DURING_DELETE)]))
    assert change.deleted == (TopicPartition("t", 0),)
    assert change.cached == ()
    assert list(cache.topics) == ["u"]
    assert cache.partition(TopicPartition("t", 0)) is None
    cache.apply(request([partition("never", 0, leader=LEADER_DURING_DELETE)]))
    assert list(cache.topics) == ["u"]


def test_partitions_of_a_topic_being_deleted_are_removed_one_by_one():
    cache = MetadataCache()
    cache.apply(request([partition("t", 0), partition("t", 1)]))
    cache.apply(request([partition("t", 0, leader=LEADER_DURING_DELETE)]))
    assert list(cache.partitions("t")) == [1]


def test_nothing_known():
    cache = MetadataCache()
    assert cache.partitions("t") == {}
    assert cache.partition(TopicPartition("t", 0)) is None
    assert cache.controller is None


def test_the_controller_is_named_only_while_it_lives():
    cache = MetadataCache()
    cache.controller_changed(2)
    assert cache.controller is None
    cache.apply(request())
    assert cache.controller == 2
    cache.apply(request(brokers=(1,)))
    assert cache.controller is None
    cache.controller_changed(None)
    assert cache.controller is None
