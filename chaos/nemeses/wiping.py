"""Deletion of brokers' registrations in ZooKeeper, as by a mistake with ``zkCli.sh``."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.topics import decode_state
from barnabas.local.zookeeper_wire import Connection, WireError

_TRIES = 50
"""The most tries to empty a znode; brokers register again meanwhile."""


def wipe(address: str, znodes: Iterable[str]) -> list[str]:
    """Delete ``znodes`` and return those that existed.

    Args:
        address: ``host:port`` of a server.
        znodes: The paths.

    Raises:
        WireError: None existed, or the server refused.
        OSError: The server does not answer.
    """
    znodes = tuple(znodes)
    with Connection(address) as connection:
        connection.connect()
        wiped = [path for path in znodes if connection.delete(path)]
    if not wiped:
        raise WireError(f"{', '.join(znodes)}: there is no such znode")
    return wiped


def wipe_parent(address: str, parent: str) -> list[str]:
    """Delete a znode with its children, and return what was deleted, the parent last.

    Raises:
        WireError: The znode did not exist, children have children, or they return as fast as they are
            deleted.
        OSError: The server does not answer.
    """
    with Connection(address) as connection:
        connection.connect()
        wiped: list[str] = []
        for _ in range(_TRIES):
            children = [f"{parent}/{child}" for child in connection.children(parent)]
            wiped += [path for path in children if connection.delete(path) and path not in wiped]
            if connection.delete(parent):
                return [*wiped, parent]
    raise WireError(f"{parent} is still there after {_TRIES} tries to delete it")


def missing(address: str, znodes: Iterable[str]) -> list[str]:
    """Return those of ``znodes`` that do not exist.

    Raises:
        WireError: The server refused.
        OSError: The server does not answer.
    """
    with Connection(address) as connection:
        connection.connect()
        return [path for path in znodes if connection.stat(path) is None]


def in_sync(address: str) -> dict[TopicPartition, frozenset[BrokerId]]:
    """Read the current ISR of every partition from ZooKeeper.

    Partitions without a state are left out, and so are those of topics being deleted, whose ISRs shrink.

    Raises:
        WireError: The server refused.
        OSError: The server does not answer.
    """
    found: dict[TopicPartition, frozenset[BrokerId]] = {}
    with Connection(address) as connection:
        connection.connect()
        deleted = {*connection.children(paths.DELETE_TOPICS)}
        for topic in connection.children(paths.TOPICS):
            for number in connection.children(paths.topic_partitions(topic)):
                tp = TopicPartition(topic, int(number))
                state = connection.data(paths.partition_state(tp))
                if state is not None:
                    found[tp] = frozenset(decode_state(tp, state, 0).leader_and_isr.isr)
        deleted.update(connection.children(paths.DELETE_TOPICS))
    return {tp: isr for tp, isr in found.items() if tp.topic not in deleted}
