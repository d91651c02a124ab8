"""Deletes what brokers registered in ZooKeeper, as somebody with ``zkCli.sh`` and a wrong idea would."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.chaos.zookeeper_wire import Connection, WireError
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.topics import decode_state

_TRIES = 50
"""Brokers register again while their parent is being emptied."""


def wipe(address: str, znodes: Iterable[str]) -> list[str]:
    """Delete ``znodes``; those that were there.

    Args:
        address: ``host:port`` of a server.
        znodes: Their paths.

    Raises:
        WireError: None was there, or the server refused.
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
    """Delete a znode and all below it, of which none may have children; what was deleted, the parent last.

    Raises:
        WireError: It was not there, or children came back as fast as they were deleted.
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
    """Which of ``znodes`` are not there.

    Raises:
        WireError: The server refused.
        OSError: The server does not answer.
    """
    with Connection(address) as connection:
        connection.connect()
        return [path for path in znodes if connection.stat(path) is None]


def in_sync(address: str) -> dict[TopicPartition, frozenset[BrokerId]]:
    """The ISR of every partition, as ZooKeeper has it now.

    Partitions without a state are left out, and those of topics that are being deleted: their ISRs shrink.

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
