import confluent_kafka
import pytest

from barnabas.chaos.nemeses.faults import InjectedFault
from barnabas.chaos.recovery import (
    NotRecoveredError,
    differing,
    ended,
    revive,
    undeleted,
    wait_until_undone,
    wait_until_whole,
)
from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.errors import ClusterError
from barnabas.local.observe import ClusterView, PartitionView
from barnabas.local.zookeeper_wire import WireError

TP, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)
WHOLE = PartitionView(leader=1, isr=(1, 2), replicas=(1, 2))
SHRUNK = PartitionView(leader=1, isr=(1,), replicas=(1, 2))


class Broker:
    def __init__(self, number, directory, pid=1):
        self.id = number
        self.pid = pid
        self.exit_status = 1
        self.directory = directory

    def last_words(self):
        return "no space left"


class Cluster:
    def __init__(self, *brokers, error=None):
        self.brokers = {broker.id: broker for broker in brokers}
        self.restarted = []
        self._error = error

    def restart(self, broker, *, wait):
        self.restarted.append((broker, wait))

    def wait_ready(self, timeout_s):
        if self._error is not None:
            raise self._error


def looks(*views):
    """A look after another, the last one for ever."""
    left = list(views)

    def look():
        view = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(view, Exception):
            raise view
        return ClusterView(partitions=view)

    return look


def test_brokers_that_ended_are_restarted_and_reported_unless_allowed(tmp_path):
    cluster = Cluster(Broker(1, tmp_path), Broker(2, tmp_path, pid=None), Broker(3, tmp_path, pid=None))
    assert revive(cluster, {3}) == ["broker 2 ended by itself with status 1: no space left"]
    assert cluster.restarted == [(2, False), (3, False)]


def test_brokers_that_ended_are_reported_and_not_restarted(tmp_path):
    cluster = Cluster(Broker(1, tmp_path), Broker(2, tmp_path, pid=None), Broker(3, tmp_path, pid=None))
    assert ended(cluster, {3}) == ["broker 2 ended by itself with status 1: no space left"]
    assert len(ended(cluster)) == 2
    assert cluster.restarted == []


def test_it_waits_until_every_partition_is_whole():
    refused = confluent_kafka.KafkaException("nobody")
    look = looks(refused, {TP: WHOLE}, {TP: WHOLE, OTHER: SHRUNK}, {TP: WHOLE, OTHER: WHOLE})
    wait_until_whole(Cluster(), look, (TP, OTHER), timeout_s=20)


@pytest.mark.parametrize(
    ("view", "said"),
    [
        ({TP: SHRUNK}, "1 of 1 partitions, among them"),
        (confluent_kafka.KafkaException("x"), "no broker answers"),
    ],
)
def test_what_is_missing_in_the_end_is_reported(view, said):
    with pytest.raises(NotRecoveredError, match=said):
        wait_until_whole(Cluster(), looks(view), (TP,), timeout_s=0)


def test_a_cluster_that_is_not_ready_is_not_whole():
    with pytest.raises(NotRecoveredError, match="did not serve"):
        wait_until_whole(Cluster(error=ClusterError("did not serve")), looks({}), (), timeout_s=0)


def lacks(*answers):
    """A fault of which this lacks, one look after another."""
    left = list(answers)

    def lacking():
        found = left.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    return InjectedFault("done", lambda: None, lacking=lacking)


def test_it_waits_until_nothing_lacks_that_faults_took():
    wait_until_undone(
        [InjectedFault("other", lambda: None), lacks(WireError("away"), "one block", "")], timeout_s=20
    )
    wait_until_undone([], timeout_s=0)


@pytest.mark.parametrize("answer", ["one block is damaged", OSError("one block is damaged")])
def test_what_stays_missing_is_reported(answer):
    with pytest.raises(NotRecoveredError, match="one block is damaged"):
        wait_until_undone([lacks(answer)], timeout_s=0)


def test_replicas_must_be_whole_and_the_same_in_the_end(tmp_path, batch):
    log_dirs = {broker: (tmp_path / str(broker),) for broker in (1, 2)}
    for (directory,) in log_dirs.values():
        for tp in (TP, OTHER):
            log = directory / f"{tp.topic}-{tp.partition}"
            log.mkdir(parents=True)
            (log / f"{0:020}.log").write_bytes(batch(0) + batch(1))
    assert differing(log_dirs, (TP, OTHER), timeout_s=0) == []
    (tmp_path / "2" / "t-1" / f"{0:020}.log").write_bytes(batch(0))
    assert differing(log_dirs, (TP, OTHER), timeout_s=0) == ["t-1: on broker 2 offsets 1 to 1 are missing"]
    assert differing({}, (TP, OTHER), timeout_s=0) == []


def test_deleted_topics_must_go_from_metadata_and_disks(tmp_path):
    for log in ("data/gone-0", "data/gone-1.5f2e-delete", "data/kept-0", "disks/data-small/gone-10"):
        (tmp_path / log).mkdir(parents=True)
    cluster = Cluster(Broker(1, tmp_path))
    view = {TopicPartition("gone", 0): WHOLE, TopicPartition("kept", 0): WHOLE}
    assert undeleted(cluster, looks(view), frozenset({"gone"}), timeout_s=0) == [
        "topic gone was deleted and is in the metadata",
        "broker 1 keeps gone-0 of a deleted topic",
        "broker 1 keeps gone-10 of a deleted topic",
    ]
    assert undeleted(cluster, looks({}), frozenset({"other"}), timeout_s=0) == []
    assert undeleted(cluster, looks(confluent_kafka.KafkaException("x")), frozenset(), timeout_s=0) != []
