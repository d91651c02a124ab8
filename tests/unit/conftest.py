"""Values for the fields of lines of state-change.log, drawn at random, and checks of what is left over."""

from __future__ import annotations

import gc
import logging
import re
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
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


class _AsyncioErrors(logging.Handler):
    """A list of what asyncio could not raise, such as the end of a loop that a task outlives."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@pytest.fixture(scope="module")
def nothing_is_left_open() -> Iterator[None]:
    """Fail a module whose tests leave an open socket, transport or task to the garbage collector.

    The finalizer of such an object raises a ResourceWarning in the middle of whatever runs then, and pytest
    parses source to format it. If the parser is what runs (pytest parses every module of ours that a test
    imports), Python before 3.11.8 and 3.12.2 fails with "AST constructor recursion depth mismatch", in a test
    of something else (CPython's gh-106905). An error that asyncio logs counts, too: its traceback keeps
    transports alive until pytest drops the record.
    """
    gc.collect()  # what the modules before left
    warnings: list[str] = []
    errors = _AsyncioErrors()
    usual = sys.unraisablehook
    sys.unraisablehook = lambda unraisable: warnings.append(repr(unraisable.exc_value))
    logging.getLogger("asyncio").addHandler(errors)
    try:
        yield
        gc.collect()
    finally:
        logging.getLogger("asyncio").removeHandler(errors)
        sys.unraisablehook = usual
    assert (warnings, errors.messages) == ([], [])


@pytest.fixture(scope="module")
def mock_bootstrap() -> Iterator[str]:
    """`bootstrap.servers` of librdkafka's mock cluster: the wire protocol without our brokers."""
    owner = AdminClient({"test.mock.num.brokers": 3, "bootstrap.servers": "mock", "log_level": 2})
    brokers = owner.list_topics(timeout=5).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    del owner
