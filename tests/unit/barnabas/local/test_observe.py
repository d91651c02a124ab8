import itertools
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaException

from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.observe import ClusterView, Observer, PartitionView


def test_an_ordinary_client_sees_brokers_controller_and_leaders(mock_bootstrap):
    view = Observer(mock_bootstrap).look("observed")
    assert set(view.brokers) == {1, 2, 3}
    assert view.partitions
    for tp, partition in view.partitions.items():
        assert tp.topic == "observed"
        assert partition.leader in partition.isr
        assert partition.replicas == (1, 2, 3)


def test_after_a_poll_without_an_answer_it_polls_again(mock_bootstrap):
    observer = Observer(mock_bootstrap)

    class Paused:
        def list_topics(self, **_):
            raise KafkaException("no answer")

    observer._admin = Paused()
    with pytest.raises(KafkaException):
        observer.look()
    assert set(observer.look().brokers) == {1, 2, 3}


class YoungCluster:
    """An admin client of a cluster whose controller is known from the third look on."""

    def __init__(self):
        self.controllers = iter([-1, -1])
        self.created = []

    def list_topics(self, **_):
        known = next(self.controllers, 2)
        return SimpleNamespace(brokers={}, controller_id=known, topics={})

    def create_topics(self, topics, request_timeout):
        del request_timeout
        self.created += [next(self.controllers, None) is None and topic.topic for topic in topics]
        done = Future()
        done.set_result(None)
        return {topic.topic: done for topic in topics}


def test_a_topic_is_created_once_somebody_knows_of_a_controller():
    observer = Observer("127.0.0.1:1")
    observer._admin = young = YoungCluster()
    assert observer.create_topic("t", partitions=0) == ()
    assert young.created == ["t"]


def test_a_missing_controller_is_reported():
    observer = Observer("127.0.0.1:1")
    observer._admin = young = YoungCluster()
    young.controllers = itertools.repeat(-1)
    with pytest.raises(TimeoutError, match=r"no broker knew of a controller within 0\.1 s"):
        observer.create_topic("t", partitions=1, timeout_s=0.1)
    assert young.created == []


def test_a_deletion_that_no_controller_starts_is_reported(mock_bootstrap):
    # librdkafka's mock knows no DeleteTopics.
    assert Observer(mock_bootstrap).delete_topic("observed", timeout_s=5) is False


def test_a_deletion_is_taken_on():
    observer = Observer("127.0.0.1:1")

    class Admin:
        def delete_topics(self, names, request_timeout):
            (name,) = names
            done = Future()
            done.set_result(None)
            return {name: done}

    observer._admin = Admin()
    assert observer.delete_topic("observed") is True


def test_waiting_for_a_whole_topic_ends_with_what_is_missing(mock_bootstrap):
    observer = Observer(mock_bootstrap)
    assert observer.wait_until_in_sync("observed", partitions=4, timeout_s=5).partitions
    with pytest.raises(TimeoutError, match="99 partitions expected with a leader and a full ISR"):
        observer.wait_until_in_sync("observed", partitions=99, timeout_s=0.1)


def view(*leaders):
    return ClusterView(
        partitions={
            TopicPartition("t", n): PartitionView(leader, isr=(), replicas=())
            for n, leader in enumerate(leaders)
        }
    )


def test_the_leader_of_most_partitions_is_found_and_ties_go_to_the_lowest_id():
    assert view(2, 3, 3, None, None, None).leader_of_most() == 3
    assert view(3, 2, 1, 2, 3, 1).leader_of_most() == 1
    assert [view(2, 3, 3, None).led_by(broker) for broker in (1, 2, 3)] == [0, 1, 2]
    with pytest.raises(LookupError, match="none of 1 partitions"):
        view(None).leader_of_most()


@pytest.mark.parametrize(
    ("leader", "isr", "whole"), [(1, (3, 1, 2), True), (1, (1, 2), False), (None, (1, 2, 3), False)]
)
def test_a_whole_partition_has_a_leader_and_all_its_replicas_in_sync(leader, isr, whole):
    partition = PartitionView(leader, isr, replicas=(1, 2, 3))
    assert partition.is_whole is whole
    assert ClusterView(partitions={TopicPartition("t", 0): partition}).whole == whole
