"""What a consumer learns of a log that an unclean election truncated (KIP-320).

Which records stay is tested in ``tests/integration/replication``, on the same code in one process.
"""

from __future__ import annotations

import confluent_kafka
from confluent_kafka.admin import AdminClient, NewTopic
from kio.schema.offset_for_leader_epoch.v3 import request as ofle

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.observe import Observer
from barnabas.local.waiting import wait_until
from tests.batches import whole_batches
from tests.integration.records import write

A, B = 1, 2
"""The replicas of the topic; the third broker looks on."""

DEADLINE_S = 40.0


class Story:
    """A topic with replicas on A, its leader, and B; anyone may be elected."""

    def __init__(self, cluster, name):
        self.cluster = cluster
        self.tp = TopicPartition(name, 0)
        self.observer = Observer(cluster.bootstrap)
        settings = {"unclean.leader.election.enable": "true"}
        topic = NewTopic(name, num_partitions=1, replica_assignment=[[A, B]], config=settings)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        admin.create_topics([topic])[name].result(DEADLINE_S)
        self.wait_for(A, {A, B})

    def look(self):
        return self.observer.look(self.tp.topic).partitions[self.tp]

    def wait_for(self, leader, isr):
        def stands():
            try:
                seen = self.look()
            except (confluent_kafka.KafkaException, KeyError):
                return False
            return (seen.leader, set(seen.isr)) == (leader, isr)

        wait_until(stands, f"{self.tp} led by {leader}, in sync {isr}")

    def write(self, value):
        write(self.cluster, self.tp.topic, value)

    def log(self, broker_id):
        """The bytes of a replica's log."""
        directory = self.cluster.brokers[broker_id].directory / "data" / f"{self.tp.topic}-0"
        return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))

    def equal_logs(self):
        """The bytes that both replicas have, once they are in sync."""
        self.wait_for(B, {A, B})
        wait_until(lambda: self.log(A) == self.log(B), "equal logs")
        return self.log(A)


def read_to(consumer, story, count):
    """The values of the first records, which the consumer has read then."""
    consumer.assign([confluent_kafka.TopicPartition(story.tp.topic, 0, 0)])
    found = []

    def are_read():
        found.extend(message.value() for message in consumer.consume(count, timeout=1) if not message.error())
        return len(found) >= count

    wait_until(are_read, f"{count} records of {story.tp}", last=lambda: found)
    return found


def epochs_in(content):
    """Where each leader epoch of a log begins."""
    starts = {}
    for batch in whole_batches(content):
        starts.setdefault(batch.header.partition_leader_epoch, batch.header.base_offset)
    return starts


def test_a_consumer_that_read_records_lost_by_an_unclean_election_gets_an_error(cluster, answered):
    """A client asks where its last record's epoch ends, and learns that it is beyond that (KIP-320)."""
    story = Story(cluster, "story-c")
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
        }
    )
    story.write(b"first")
    cluster.kill(B)
    story.wait_for(A, {A})
    story.write(b"lost")
    story.write(b"lost too")
    assert read_to(consumer, story, 3) == [b"first", b"lost", b"lost too"]
    (first_epoch, second_epoch) = epochs_in(story.log(A))
    cluster.kill(A)
    cluster.restart(B)
    story.wait_for(B, {B})
    heard = []

    def is_told():
        message = consumer.poll(1)
        heard.append(message and message.error() and message.error().str())
        return "broker end offset is 1" in (heard[-1] or "")

    wait_until(is_told, "that the log was truncated", last=lambda: heard)
    assert "log truncation detected at offset 3" in heard[-1]
    consumer.close()

    story.write(b"by B")
    cluster.restart(A)
    epochs = epochs_in(story.equal_logs())
    last_epoch = max(epochs)
    assert epochs == {first_epoch: 0, last_epoch: 1}

    def end_of(epoch, broker=B, current=-1):
        asked = ofle.OffsetForLeaderPartition(partition=0, current_leader_epoch=current, leader_epoch=epoch)
        topic = ofle.OffsetForLeaderTopic(topic=story.tp.topic, partitions=(asked,))
        answer = answered(
            cluster.brokers[broker], ofle.OffsetForLeaderEpochRequest(replica_id=-1, topics=(topic,))
        )
        found = answer.topics[0].partitions[0]
        return ErrorCode(found.error_code), found.leader_epoch, found.end_offset

    assert end_of(first_epoch) == (ErrorCode.NONE, first_epoch, 1)
    assert end_of(second_epoch) == (ErrorCode.NONE, first_epoch, 1)
    assert end_of(last_epoch) == (ErrorCode.NONE, last_epoch, 2)
    assert end_of(last_epoch + 1) == (ErrorCode.NONE, -1, -1)
    assert end_of(-1) == (ErrorCode.NONE, -1, -1)
    assert end_of(last_epoch, current=first_epoch)[0] is ErrorCode.FENCED_LEADER_EPOCH
    assert end_of(last_epoch, current=last_epoch + 5)[0] is ErrorCode.UNKNOWN_LEADER_EPOCH
    assert end_of(last_epoch, broker=A)[0] is ErrorCode.NOT_LEADER_OR_FOLLOWER
