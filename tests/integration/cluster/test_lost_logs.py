"""A broker whose disk was emptied neither leads nor is in sync with nothing; and a stray log is put aside."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from kazoo.client import KazooClient

from barnabas.chaos.nemeses.segments import batches, differences, segments_of
from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.observe import Observer, PartitionView
from barnabas.local.waiting import wait_until
from barnabas.tools.reassignment.reassignment_files import render
from tests.integration.reading import read_partition
from tests.integration.records import write
from tests.logged import log_lines
from tests.metadata import metadata_of

REASSIGN = Path(__file__).parents[3] / "scripts" / "kafka-reassign-partitions.sh"
ANSWER_S = 60.0
NOBODY = PartitionView(None, (), ())
EACH = ALONE, CLEAN, UNCLEAN, WHOLE = "alone", "clean", "unclean", "whole"


def create(cluster, name, replicas, **config):
    topic = NewTopic(name, num_partitions=1, replica_assignment=[list(replicas)], config=config)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.create_topics([topic])[name].result(ANSWER_S)
    wait_for(cluster, name, replicas[0], set(replicas))


def look(cluster, name):
    try:
        return Observer(cluster.bootstrap).look(name).partitions[TopicPartition(name, 0)]
    except (confluent_kafka.KafkaException, KeyError):
        return None


def wait_for(cluster, name, leader, isr):
    def stands():
        seen = look(cluster, name)
        return seen is not None and (seen.leader, set(seen.isr)) == (leader, isr)

    wait_until(stands, f"{name} led by {leader}, in sync {isr}", last=lambda: look(cluster, name))


def values(cluster, name):
    """Read all that ``name`` has, of which there is one record at least."""
    return [message.value() for message in read_partition(cluster.bootstrap, name, at_least=1)]


def empty_disk(broker):
    """Put what the broker has on its disk into its directory ``lost``."""
    shutil.rmtree(broker.directory / "lost", ignore_errors=True)
    (broker.directory / "data").rename(broker.directory / "lost")


@pytest.fixture
def emptied(cluster):
    """Broker 2 was the last in sync of two topics, the only replica of a third, and lost its disk."""
    create(cluster, ALONE, [2])
    create(cluster, CLEAN, [2, 3])
    create(cluster, UNCLEAN, [2, 3], **{"unclean.leader.election.enable": "true"})
    create(cluster, WHOLE, [1, 2])
    for name in EACH:
        write(cluster, name, b"first")
    cluster.kill(3)
    for name in (CLEAN, UNCLEAN):
        wait_for(cluster, name, 2, {2})
        write(cluster, name, b"second")
    cluster.kill(2)
    wait_for(cluster, CLEAN, None, {2})
    empty_disk(cluster.brokers[2])
    cluster.restart(2, wait=False)
    cluster.restart(3)
    return cluster


def test_an_emptied_disk_erases_nobody(emptied):
    """A broker without a log was made leader of an old partition, and erased its followers."""
    cluster, broker = emptied, emptied.brokers[2]
    # Where it was not in sync, or an unclean election is allowed, another leads and it begins with nothing.
    wait_for(cluster, WHOLE, 1, {1, 2})
    wait_for(cluster, UNCLEAN, 3, {2, 3})
    assert values(cluster, WHOLE) == values(cluster, UNCLEAN) == [b"first"]
    # Elsewhere nobody leads, and the broker says why.
    for name in (ALONE, CLEAN):
        seen = look(cluster, name)
        assert (seen.leader, set(seen.isr)) == (None, {2})
        (line,) = {line.split("error=")[-1] for line in log_lines(broker, f"there is no log of {name}-0")}
        assert "though the partition is not new" in line
        assert any(" ERROR " in line for line in log_lines(broker, f"there is no log of {name}-0"))
    logs = {path.name for path in (broker.directory / "data").glob("*-0")}
    assert logs & {f"{name}-0" for name in EACH} == {f"{WHOLE}-0", f"{UNCLEAN}-0"}

    # A topic that is lost can be deleted.
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.delete_topics([ALONE])[ALONE].result(ANSWER_S)
    wait_until(lambda: ALONE not in metadata_of(admin).topics, f"the end of {ALONE}")

    # With the log back, so are its records.
    cluster.terminate(2)
    lost = broker.directory / "lost" / f"{CLEAN}-0"
    shutil.move(lost, broker.directory / "data" / lost.name)
    cluster.restart(2)
    wait_for(cluster, CLEAN, 2, {2, 3})
    assert values(cluster, CLEAN) == [b"first", b"second"]


def kill_all(cluster, quiet, pair):
    """Kill three brokers; two topics that never changed since they were created have records."""
    create(cluster, quiet, [1, 2, 3])
    create(cluster, pair, [1, 2])
    for name in (quiet, pair):
        write(cluster, name, b"first")
    for broker_id in cluster.brokers:
        cluster.brokers[broker_id].signal(signal.SIGKILL)
    for broker in cluster.brokers.values():
        broker.wait(ANSWER_S)


def wait_for_no_registrations(cluster):
    client = KazooClient(cluster.zookeeper_connect)
    client.start()
    try:
        wait_until(lambda: client.get_children("/brokers/ids") == [], "the end of all sessions")
    finally:
        client.stop()
        client.close()


def test_a_disk_that_was_emptied_while_all_were_down_erases_nobody(cluster):
    """Broker 2 led both topics with nothing, and the intact logs of the others were truncated to nothing."""
    quiet, pair, broker = "quiet-down", "pair-down", cluster.brokers[2]
    kill_all(cluster, quiet, pair)
    empty_disk(broker)
    # While broker 1 is still registered, broker 3 counts as bounced, and leaves the ISR.
    wait_for_no_registrations(cluster)
    for broker_id in (2, 3):
        cluster.restart(broker_id, wait=False)
    # Broker 3 has the records of one topic; of the other nobody has who is live.
    wait_until(lambda: (look(cluster, quiet) or NOBODY).leader == 3, "broker 3 leads")
    wait_until(lambda: log_lines(broker, f"there is no log of {pair}-0"), "broker 2 refuses to lead")
    wait_until(lambda: look(cluster, pair).leader is None, "no leader")
    assert values(cluster, quiet) == [b"first"]
    cluster.restart(1)
    wait_for(cluster, quiet, 3, {1, 2, 3})
    wait_for(cluster, pair, 1, {1, 2})
    assert values(cluster, quiet) == values(cluster, pair) == [b"first"]


def test_a_disk_that_was_emptied_within_a_session_erases_nobody(cluster):
    """The controller sent broker 2's next process what was meant for the one that was still registered."""
    quiet, pair, broker = "quiet-session", "pair-session", cluster.brokers[2]
    kill_all(cluster, quiet, pair)
    empty_disk(broker)
    # One after the other: broker 3 becomes the controller while brokers 1 and 2 are still registered.
    cluster.restart(3)
    cluster.restart(2, wait=False)
    wait_until(lambda: log_lines(broker, f"there is no log of {pair}-0"), "broker 2 refuses to lead")
    cluster.restart(1)
    # Broker 3 or 1 leads, whichever the controller found in the ISR first.
    wait_until(lambda: set((look(cluster, quiet) or NOBODY).isr) == {1, 2, 3}, "three in sync")
    wait_for(cluster, pair, 1, {1, 2})
    assert values(cluster, quiet) == values(cluster, pair) == [b"first"]


def strays(broker, name):
    return [path.name for path in (broker.directory / "data").glob(f"{name}-0.*-stray")]


def test_a_log_that_was_moved_away_while_its_broker_was_down_is_not_adopted(cluster):
    """It came back with the next topic of its name, with other records at the same offsets."""
    name = "moved-away"
    create(cluster, name, [1, 2])
    write(cluster, name, b"of the first")
    create(cluster, "other", [1, 2])
    write(cluster, "other", b"x")
    cluster.kill(2)
    wait_for(cluster, name, 1, {1})
    # As a reassignment to (1, 3) that completes, then a deletion and another topic of that name.
    log = cluster.brokers[2].directory / "data" / f"{name}-0"
    kept = log.rename(log.with_name("kept"))
    cluster.restart(2)
    wait_for(cluster, name, 1, {1, 2})
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.delete_topics([name])[name].result(ANSWER_S)
    wait_until(lambda: name not in metadata_of(admin).topics, f"the end of {name}")
    cluster.terminate(2)
    kept.rename(log)
    cluster.restart(2)
    # Told all that it hosts, the broker asks ZooKeeper about the rest, and puts the stray aside.
    wait_until(lambda: strays(cluster.brokers[2], name), "a stray put aside")
    assert any(" WARN" in line for line in log_lines(cluster.brokers[2], f"partition {name}-0 is a stray"))
    create(cluster, name, [2, 1])
    write(cluster, name, b"of the second")
    assert values(cluster, name) == [b"of the second"]
    assert values(cluster, "other") == [b"x"]
    assert strays(cluster.brokers[2], "other") == []


def move(cluster, name, replicas, moves):
    moves.write_text(render({TopicPartition(name, 0): replicas}))
    words = [
        REASSIGN,
        "--bootstrap-server",
        cluster.bootstrap,
        "--reassignment-json-file",
        moves,
        "--execute",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=ANSWER_S)
    assert done.returncode == 0, done.stdout + done.stderr

    def is_over():
        seen = look(cluster, name)
        return seen is not None and tuple(seen.replicas) == replicas and set(seen.isr) == set(replicas)

    wait_until(is_over, f"{name} on {replicas}", last=lambda: look(cluster, name))


def on_disk(cluster, name):
    """The batches of each replica of the topic, by broker."""
    return {
        id_: [
            batch
            for segment in segments_of([broker.directory / "data"], TopicPartition(name, 0))
            for batch in batches(segment.read_bytes())
        ]
        for id_, broker in cluster.brokers.items()
    }


def test_a_broker_that_returns_to_another_topic_of_that_name_begins_empty(cluster, tmp_path):
    """Its old records stayed at the offsets of new ones, and it joined the ISR with them.

    No request showed that its log was a stray: it is a replica of the new topic, too, and a later controller
    cannot tell from a leader epoch above 0 whether a broker that was away was sent the replica as new.
    """
    name = "again"
    create(cluster, name, [1, 3])
    for value in (b"old 0", b"old 1", b"old 2"):
        write(cluster, name, value)
    cluster.kill(3)
    wait_for(cluster, name, 1, {1})
    move(cluster, name, (1, 2), tmp_path / "moves.json")
    # A client of before might ask broker 3 for ever, if that was the controller.
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.delete_topics([name])[name].result(ANSWER_S)
    wait_until(lambda: name not in metadata_of(admin).topics, f"the end of {name}")
    topic = NewTopic(name, num_partitions=1, replica_assignment=[[1, 2, 3]])
    wait_until(lambda: admin.create_topics([topic])[name].exception(ANSWER_S) is None, f"another {name}")
    wait_for(cluster, name, 1, {1, 2})
    write(cluster, name, b"new 0")
    # One of the two is the controller, and each election raises the leader epoch.
    for killed, other in ((1, 2), (2, 1)):
        cluster.kill(killed)
        wait_for(cluster, name, other, {other})
        cluster.restart(killed)
        wait_for(cluster, name, other, {1, 2})
        write(cluster, name, b"new %d" % other)
    cluster.restart(3)
    wait_for(cluster, name, 1, {1, 2, 3})

    assert differences(on_disk(cluster, name), 0, 3) == []
    (stray,) = strays(cluster.brokers[3], name)
    (line,) = log_lines(cluster.brokers[3], stray)
    assert " WARN" in line
    assert "it is of another topic of that name" in line
    for broker in (1, 2):
        cluster.kill(broker)
    wait_for(cluster, name, 3, {3})
    assert values(cluster, name) == [b"new 0", b"new 2", b"new 1"]
