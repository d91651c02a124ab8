import threading
import time

import confluent_kafka
import pytest

from barnabas.chaos.workload import churn as module
from barnabas.chaos.workload.churn import KEPT, PARTITIONS, Churn
from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.observe import ClusterView
from barnabas.workload.clients import Delivery
from barnabas.workload.history import Acked, Created, Deleted, History

ACCEPTED = Delivery(offset=0)


class Cluster:
    """Creates and deletes as an observer does; refuses the topics named, and tells when enough were made.

    It does not hear of the first ``unheard`` deletions.
    """

    def __init__(self, enough, refused=(), unheard=0):
        self._enough = enough
        self._refused = refused
        self._unheard = unheard
        self.made = []
        self.deleted = []
        self.done = threading.Event()

    def create_topic(self, name, *, partitions, **_):
        if name in self._refused:
            raise confluent_kafka.KafkaException("refused")
        self.made.append(name)
        if len(self.made) == self._enough:
            self.done.set()
        return tuple(TopicPartition(name, number) for number in range(partitions))

    def delete_topic(self, name):
        if self._unheard:
            self._unheard -= 1
            return False
        self.deleted.append(name)
        return True

    def look(self):
        standing = [name for name in self.made if name not in self.deleted]
        return ClusterView(partitions={TopicPartition(name, 0): None for name in standing})


class Producer:
    def __init__(self, delivery=ACCEPTED):
        self._delivery = delivery

    def send(self, partition, value, done):
        done(self._delivery)

    def poll(self):
        pass

    def close(self, timeout_s):
        pass


def churned(cluster, producer=Producer):
    history = History(time.monotonic)
    churn = Churn(cluster, producer, history)
    churn.start()
    assert cluster.done.wait(20)
    return churn, churn.stop(), history


def test_topics_come_are_written_to_and_the_oldest_go():
    cluster = Cluster(enough=4)
    churn, standing, history = churned(cluster)
    assert churn.created == len(cluster.made)
    assert len(standing) == KEPT * PARTITIONS
    assert cluster.deleted == cluster.made[: len(cluster.made) - KEPT]
    assert [op.topic for op in history.ops() if isinstance(op, Deleted)] == cluster.deleted
    assert [op.topic for op in history.ops() if isinstance(op, Created)] == cluster.made
    assert set(standing) <= {op.partition for op in history.ops() if isinstance(op, Acked)}


def test_a_name_is_used_again_once_its_deletion_was_accepted():
    cluster = Cluster(enough=2 * KEPT + 4, unheard=1)
    churn, standing, history = churned(cluster)
    first_deleted, later = cluster.made[0], cluster.made[1:]
    assert first_deleted not in later  # the broker may still carry out the deletion that it did not answer
    assert len(set(later)) == KEPT + 1
    assert churn.created_again == len(later) - len(set(later))
    assert not churn.deleted & {partition.topic for partition in standing}
    values = [(op.partition, op.value) for op in history.ops() if isinstance(op, Acked)]
    assert len(set(values)) == len(values)


def test_a_topic_that_could_not_be_created_is_deleted_for_it_may_exist():
    cluster = Cluster(enough=1, refused={"churn-1"})
    churned(cluster)
    assert cluster.deleted[0] == "churn-1"
    assert "churn-1" not in cluster.made


def test_a_deletion_is_requested_until_a_broker_accepts_it():
    cluster = Cluster(enough=KEPT + 1, unheard=3)
    churn, _, _ = churned(cluster)
    assert set(cluster.deleted) == churn.deleted


def test_where_nothing_is_acknowledged_it_goes_on(monkeypatch):
    monkeypatch.setattr(module, "PROGRESS_S", 0.01)
    _, standing, _ = churned(Cluster(enough=3), lambda: Producer(Delivery(error="cut off")))
    assert standing


def test_what_ends_it_early_is_raised():
    def broken():
        raise ValueError("no such setting")

    with pytest.raises(ValueError, match="no such setting"):
        churned(Cluster(enough=1), broken)
