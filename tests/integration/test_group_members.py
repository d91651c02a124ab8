"""Members of each client library with each of its assignors, static members, and automatic commits."""

from __future__ import annotations

import signal
from collections import Counter

import pytest

from tests.integration.group_member import OF_AIOKAFKA, OF_KAFKA_PYTHON
from tests.integration.groups import (
    LIBRARIES,
    PARTITIONS,
    PATIENCE_S,
    QUICK_GROUPS,
    RECORDS,
    Member,
    committed,
    described,
    state,
    until,
    write,
)

OVERRIDES = QUICK_GROUPS
ALL_READ = dict.fromkeys(range(PARTITIONS), RECORDS // PARTITIONS)
COOPERATIVE = "cooperative-sticky"
EAGER = {
    "confluent-kafka": ("range", "roundrobin"),
    "kafka-python": OF_KAFKA_PYTHON.keys() - {COOPERATIVE},
    "aiokafka": OF_AIOKAFKA.keys(),
}
"""The assignors of each library that revoke all partitions in each rebalance."""

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


@pytest.mark.parametrize(
    "kind", [(library, each) for library, names in EAGER.items() for each in sorted(names)], ids=" ".join
)
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


@pytest.mark.parametrize("end", ["closed", "killed"])
@pytest.mark.parametrize("library", LIBRARIES)
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
