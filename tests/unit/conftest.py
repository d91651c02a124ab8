"""Values for the fields of lines of state-change.log, drawn at random, and a check of left-over threads."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import strategies as st

from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch, LeaderEpoch, PartitionVersion
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import (
    LeaderAndIsrPartition,
    StopReplicaPartition,
    UpdateMetadataPartition,
)
from barnabas.cluster.model.statechange.values import write_node

ids = st.integers(0, 99).map(BrokerId)
id_lists = st.lists(ids, max_size=4, unique=True).map(tuple)
words = st.from_regex(r"[A-Za-z]{1,12}", fullmatch=True)
texts = st.lists(words, min_size=1, max_size=3).map(" ".join)
partitions = st.builds(
    TopicPartition, st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True), st.integers(0, 999)
)
leaderships = st.builds(
    LeaderAndIsr,
    st.integers(-2, 9).map(BrokerId),
    st.integers(0, 99).map(LeaderEpoch),
    id_lists,
    st.integers(0, 99).map(PartitionVersion),
)
states = st.builds(PartitionState, leaderships, st.integers(1, 99).map(ControllerEpoch))
assignments = st.builds(Assignment, id_lists, id_lists, id_lists)
nodes = st.builds(
    Broker, ids, st.just(BrokerEpoch(1)), st.just((Endpoint("GRPC", "host-1.a", 19092),)), words
).map(write_node)

_CLIENT_THREAD = re.compile(r"^kafka-io-|\(zk_loop\)$")

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-2, 10**6),
    "word": words,
    "flag": st.booleans(),
    "text": texts,
    "uuid": st.from_regex(r"[A-Za-z0-9_-]{22}", fullmatch=True),
    "transition": st.sampled_from(["become-leader", "become-follower"]),
    "topic_partition": partitions,
    "topic_partitions": st.lists(partitions, max_size=3).map(tuple),
    "ids": id_lists,
    "id_array": id_lists,
    "id_set": id_lists,
    "previous_leader": st.none() | ids,
    "topic_id": st.none() | words,
    "under_min_isr": st.booleans(),
    "node": nodes,
    "end_point": ids.map(lambda broker: f"BrokerEndPoint(id={broker}, host=a-1:9092)"),
    "assignment": assignments,
    "leader_and_isr": leaderships,
    "leader_isr_and_epoch": states,
    "leader_and_isr_state": st.builds(LeaderAndIsrPartition, partitions, states, assignments, st.booleans()),
    "update_metadata_state": st.builds(UpdateMetadataPartition, partitions, states, id_lists, id_lists),
    "stop_replica_state": st.builds(
        StopReplicaPartition, partitions, st.integers(-2, 99).map(LeaderEpoch), st.booleans()
    ),
}


@pytest.fixture(scope="session")
def line_values() -> dict[str, st.SearchStrategy[Any]]:
    """A strategy for each format of a field, by the format's name."""
    return VALUES


@pytest.fixture(autouse=True)
def no_client_is_left() -> Iterator[None]:
    """Fail a test that leaves a thread of kazoo or kafka-python behind.

    Such a thread draws from the global ``random`` while other tests run, and Hypothesis takes that for their
    doing. Tests of real clients belong to ``tests/integration``.
    """
    before = set(threading.enumerate())
    yield
    left = [each.name for each in threading.enumerate() if each not in before]
    assert [name for name in left if _CLIENT_THREAD.search(name)] == []
