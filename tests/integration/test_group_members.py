"""Members of each client library: assignors, static members, automatic commits; killed and paused ones;
brokers that are killed in turn."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter

import confluent_kafka
import confluent_kafka.admin
import pytest

from barnabas.page.groups import GroupReader
from tests.integration.groups import (
    LIBRARIES,
    PARTITIONS,
    PATIENCE_S,
    RECORDS,
    Member,
    committed,
    described,
    owners,
    state,
    until,
    write,
)
from tests.metadata import partitions_of

EACH = RECORDS // PARTITIONS
"""The records in each partition."""

RECOVERY_S = 180
"""How long clients may take to find other brokers: some wait for a dead one for their request timeout."""

ALL_READ = dict.fromkeys(range(PARTITIONS), EACH)
COOPERATIVE = "cooperative-sticky"
EAGER = {"confluent-kafka": "range", "kafka-python": "roundrobin", "aiokafka": "sticky"}
"""An assignor of each library that revokes all partitions in each rebalance; brokers know none of them."""

COOPERATING = ("confluent-kafka", "kafka-python")
"""The libraries with an assignor that revokes no more than it must (KIP-429); aiokafka has none."""

LONG_SESSION_MS = 25_000
"""A session in which a member's process can start again on a busy machine."""


def share(members):
    """Whether the members have all partitions among them, each one two at least, and none twice."""
    assigned = [number for each in members for number in each.assigned]
    least = PARTITIONS // len(members)
    return sorted(assigned) == list(range(PARTITIONS)) and all(
        len(each.assigned) >= least for each in members
    )


def three(cluster, topic, members, library, assignor):
    """Start three members of a library, and wait until they share the topic and have read it."""
    read = Counter()
    members += [Member(library, cluster, topic, read, assignor=assignor) for _ in range(3)]
    until(lambda: share(members) and state(cluster, topic) == "Stable", "three members")
    until(lambda: committed(cluster, topic) == ALL_READ, "the commits of all records")
    assert len(read) == RECORDS
    assert {each["protocol_data"] for each in [described(cluster, topic)]} == {assignor}
    return read


def check_end(cluster, admin, topic, members):
    """Close the members: the group is empty, keeps its commits, and can be deleted."""
    found = committed(cluster, topic)
    for each in members:
        each.close()
    until(lambda: state(cluster, topic) == "Empty", "the empty group")
    assert committed(cluster, topic) == found
    assert admin.delete_consumer_groups([topic])[topic].result(PATIENCE_S) is None
    assert committed(cluster, topic) == {}


def test_a_member_that_is_killed_leaves_no_part_of_a_line():
    say = "from tests.integration.group_member import tell; tell('committed', 4, 20)"
    here, there = os.pipe2(os.O_DIRECT)  # one read returns what one write wrote
    with os.fdopen(here, "rb", buffering=0) as read:
        try:
            unbuffered = os.environ | {"PYTHONUNBUFFERED": "1"}
            subprocess.run([sys.executable, "-c", say], stdout=there, env=unbuffered, check=True)
        finally:
            os.close(there)
        assert read.read(4096) == b"committed 4 20\n"


@pytest.mark.parametrize("kind", EAGER.items(), ids=" ".join)
def test_eager_members_share_a_topic_and_one_leaves(cluster, admin, topic, members, kind):
    read = three(cluster, topic, members, *kind)
    leaving, *others = members
    leaving.close()
    until(lambda: share(others), "two members")
    assert all(each.revoked for each in others)
    write(cluster, topic)
    until(lambda: sum(committed(cluster, topic).values()) == 2 * RECORDS, "the commits of both")
    assert len(read) == 2 * RECORDS
    check_end(cluster, admin, topic, others)


@pytest.mark.parametrize("library", COOPERATING)
def test_cooperative_members_keep_what_they_have(cluster, admin, topic, members, library):
    read = three(cluster, topic, members, library, COOPERATIVE)
    leaving, *others = members
    had, revoked = [each.assigned for each in others], [list(each.revoked) for each in others]
    leaving.close()
    until(lambda: share(others), "two members")
    assert [each.revoked for each in others] == revoked
    assert all(each.assigned > before for each, before in zip(others, had, strict=True))
    joining = Member(library, cluster, topic, read, assignor=COOPERATIVE)
    members.append(joining)
    until(lambda: share([*others, joining]), "three members again")
    given = [each.revoked[len(before) :] for each, before in zip(others, revoked, strict=True)]
    assert sorted(number for numbers in given for number in numbers) == sorted(joining.assigned)
    write(cluster, topic)
    until(lambda: sum(committed(cluster, topic).values()) == 2 * RECORDS, "the commits of all three")
    assert len(read) == 2 * RECORDS
    check_end(cluster, admin, topic, [*others, joining])


@pytest.mark.parametrize(
    ("library", "end"), [*((each, "closed") for each in LIBRARIES), (LIBRARIES[0], "killed")]
)
def test_a_static_member_restarts_without_a_rebalance(cluster, topic, members, library, end):
    read = Counter()
    other = Member(library, cluster, topic, read, session_ms=LONG_SESSION_MS)
    static = Member(library, cluster, topic, read, instance="one", session_ms=LONG_SESSION_MS)
    members += [other, static]
    until(lambda: share(members), "both members")
    until(lambda: committed(cluster, topic) == ALL_READ, "the commits of all records")
    had, assignments = static.assigned, other.assignments
    before = ids(cluster, topic)
    if end == "closed":
        static.close()
    else:
        static.signal(signal.SIGKILL)
    restarted = Member(library, cluster, topic, read, instance="one", session_ms=LONG_SESSION_MS)
    members.append(restarted)
    until(lambda: restarted.assigned == had, "the same partitions")
    write(cluster, topic)
    until(lambda: sum(committed(cluster, topic).values()) == 2 * RECORDS, "the commits of both")
    assert len(read) == 2 * RECORDS
    assert {partition for partition, _ in restarted.records} == had
    assert other.assignments == assignments
    after = ids(cluster, topic)
    assert after.keys() == before.keys() == {None, "one"}
    assert after[None] == before[None]
    assert after["one"] != before["one"]


def ids(cluster, group):
    """The ids of a group's members, by their ``group.instance.id``."""
    found = described(cluster, group)["members"]
    return {each["group_instance_id"]: each["member_id"] for each in found}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_commits_by_itself_while_it_reads_and_when_it_is_closed(cluster, topic, members, library):
    read = Counter()
    first = Member(library, cluster, topic, read, commit="auto")
    members.append(first)
    until(lambda: committed(cluster, topic) == ALL_READ, "the commits of a member that runs")
    write(cluster, topic)
    until(lambda: len(read) == 2 * RECORDS, "more records read")
    first.close()
    assert sum(committed(cluster, topic).values()) == 2 * RECORDS
    assert first.acknowledged == {}
    second = Member(library, cluster, topic, read, commit="auto")
    members.append(second)
    until(lambda: len(second.assigned) == PARTITIONS, "the partitions")
    write(cluster, topic)
    until(lambda: len(read) == 3 * RECORDS, "the new records")
    second.close()
    assert set(read.values()) == {1}
    assert sum(committed(cluster, topic).values()) == 3 * RECORDS


@pytest.mark.parametrize("library", LIBRARIES)
def test_three_members_of_which_one_is_killed_and_one_paused(cluster, topic, members, library):
    read, seen = Counter(), {}
    members += [Member(library, cluster, topic, read) for _ in range(3)]
    killed, paused, _ = members

    def has_committed(count):
        found = committed(cluster, topic)
        assert all(found.get(partition, 0) >= offset for partition, offset in seen.items()), "it went back"
        seen.update(found)
        return sum(found.values()) == count

    until(lambda: owners(cluster, topic) == [2, 2, 2], "three members")
    write(cluster, topic)  # the first to join may have read all that was there
    until(lambda: has_committed(2 * RECORDS), "the commits of all three")
    killed.signal(signal.SIGKILL)
    paused.pause()
    write(cluster, topic)
    until(lambda: owners(cluster, topic) == [PARTITIONS], "one member")
    until(lambda: has_committed(3 * RECORDS), "the commits of the member that is left")
    paused.signal(signal.SIGCONT)
    until(lambda: owners(cluster, topic) == [3, 3], "the paused member again")
    write(cluster, topic)
    until(lambda: has_committed(4 * RECORDS), "the commits of both")
    assert len(read) == 4 * RECORDS
    assert all(each.records for each in members)


class Writer:
    """Writes to all partitions in turn until it is stopped.

    Attributes:
        written: The acknowledged records, by partition and offset.
    """

    def __init__(self, cluster, topic):
        # A retry must not write a record twice: the end of each partition is compared.
        settings = {
            "bootstrap.servers": cluster.bootstrap,
            "enable.idempotence": True,
            "max.in.flight.requests.per.connection": 1,
        }
        self._producer, self._topic = confluent_kafka.Producer(settings), topic
        self.written, self._stopped = set(), threading.Event()
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self):
        number = 0
        while not self._stopped.is_set():
            self._producer.produce(self._topic, b"v", partition=number % PARTITIONS, on_delivery=self._note)
            self._producer.poll(0.05)  # the members commit each record
            number += 1

    def _note(self, error, message):
        assert error is None
        self.written.add((message.partition(), message.offset()))

    def stop(self):
        self._stopped.set()
        self._thread.join()
        assert self._producer.flush(PATIENCE_S) == 0


def shown(page, group):
    """The number of partitions with a committed offset that the live page shows; 0 while it is unknown."""
    return next((each["partitions"] for each in page.read({}) or () if each["name"] == group), 0)


def in_sync(admin, *topics):
    return all(len(each.isrs) == 3 for topic in topics for each in partitions_of(admin, topic).values())


@pytest.mark.timeout(900)  # three recoveries of `RECOVERY_S` at most
def test_brokers_are_killed_in_turn_and_every_record_is_processed_and_no_commit_goes_back(
    cluster, fresh_admin, topic, members
):
    read = Counter()
    members += [Member(library, cluster, topic, read) for library in LIBRARIES]
    until(lambda: owners(cluster, topic) == [2, 2, 2], "three members")
    writer, page = Writer(cluster, topic), GroupReader(cluster.bootstrap)
    try:
        for broker in cluster.brokers:
            before = [dict(member.acknowledged) for member in members]
            cluster.kill(broker)
            known = len(writer.written)
            enough = known + 2 * PARTITIONS
            until(lambda enough=enough: len(writer.written) > enough, "records without the broker")
            alive = set(writer.written)
            until(lambda alive=alive: alive <= read.keys(), "these records processed", RECOVERY_S)
            found = until(lambda: committed(cluster, topic), "the commits")
            until(lambda: shown(page, topic) == PARTITIONS, "the group on the live page")
            for partition, offset in (each for of_member in before for each in of_member.items()):
                assert found[partition] >= offset
            cluster.restart(broker)
            until(lambda: in_sync(fresh_admin, topic, "__consumer_offsets"), "all replicas in sync")
    finally:
        writer.stop()
        page.close()
    everything = {(partition, offset) for partition in range(PARTITIONS) for offset in range(EACH)}
    everything |= writer.written
    until(lambda: everything <= read.keys(), "all records processed", RECOVERY_S)
    ends = Counter(partition for partition, _ in everything)
    until(lambda: committed(cluster, topic) == ends, "the commits of all records")
