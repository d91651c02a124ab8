"""The few requests of Kafka's protocol that a test's cluster makes itself, on one connection each.

They need no client library, so that the library under test is the only one in the process. The versions are
old ones whose encoding is plain (``CreateTopicsRequest.json`` and its like in Kafka's sources): numbers are
big-endian, a string has its length in two bytes, an array its length in four.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from barnabas.cluster.model.acls import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from barnabas.cluster.model.errors import ErrorCode

T = TypeVar("T")

# API keys.
_METADATA, _LIST_GROUPS, _CREATE_TOPICS, _DELETE_TOPICS = 3, 16, 19, 20
_DESCRIBE_ACLS, _DELETE_GROUPS = 29, 42

_CLIENT = "barnabas.testing"
_NONE = -1
_FALSE = b"\0"

ANSWER_S = 15.0
"""Seconds in which a broker must answer, more than a request gives the controller."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of a cluster as a broker answers them.

    Attributes:
        brokers: The ids of the brokers.
        controller: The controller's id; -1 if the broker knows none.
        leaders: The leader of each partition by topic and number; -1 for none.
    """

    brokers: frozenset[int]
    controller: int
    leaders: Mapping[tuple[str, int], int]


class _Reader:
    """A reader of a response."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, form: str) -> int:
        (value,) = struct.unpack_from(f">{form}", self._data, self._at)
        self._at += struct.calcsize(f">{form}")
        return int(value)

    def text(self) -> str | None:
        length = self.number("h")
        if length == _NONE:
            return None
        self._at += length
        return self._data[self._at - length : self._at].decode()

    def array(self, item: Callable[[], T]) -> list[T]:
        return [item() for _ in range(self.number("i"))]


def _text(value: str | None) -> bytes:
    if value is None:
        return struct.pack(">h", _NONE)
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def _array(items: Iterable[bytes]) -> bytes:
    found = list(items)
    return struct.pack(">i", len(found)) + b"".join(found)


async def _ask(address: str, api: int, version: int, body: bytes) -> _Reader:
    """Send a request to ``host:port``, and return the response behind its header.

    Raises:
        OSError: The broker does not answer in time, or closed the connection.
    """
    try:
        async with asyncio.timeout(ANSWER_S):
            return await _exchange(address, api, version, body)
    except TimeoutError as error:
        raise TimeoutError(f"{address} did not answer within {ANSWER_S:g} s") from error


async def _exchange(address: str, api: int, version: int, body: bytes) -> _Reader:
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        frame = struct.pack(">hhi", api, version, 0) + _text(_CLIENT) + body
        writer.write(struct.pack(">i", len(frame)) + frame)
        (size,) = struct.unpack(">i", await reader.readexactly(4))
        answer = _Reader(await reader.readexactly(size))
    except asyncio.IncompleteReadError as error:
        raise ConnectionResetError(f"{address} closed the connection") from error
    finally:
        writer.transport.abort()
    answer.number("i")  # the correlation id
    return answer


async def metadata(address: str) -> Metadata:
    """Ask a broker for its metadata of all topics (version 4)."""
    answer = await _ask(address, _METADATA, 4, struct.pack(">i", _NONE) + _FALSE)
    answer.number("i")  # throttle_time_ms
    brokers = answer.array(lambda: (answer.number("i"), answer.text(), answer.number("i"), answer.text())[0])
    answer.text()  # cluster_id
    controller = answer.number("i")
    leaders: dict[tuple[str, int], int] = {}

    def partition(topic: str) -> None:
        answer.number("h")
        number, leader = answer.number("i"), answer.number("i")
        answer.array(lambda: answer.number("i"))  # replicas
        answer.array(lambda: answer.number("i"))  # the ISR
        leaders[topic, number] = leader

    def topic() -> None:
        answer.number("h")
        name = answer.text() or ""
        answer.number("?")  # is_internal
        answer.array(lambda: partition(name))

    answer.array(topic)
    return Metadata(frozenset(brokers), controller, leaders)


async def create_topic(
    address: str,
    name: str,
    *,
    partitions: int,
    replication_factor: int,
    configs: Mapping[str, str],
    assignment: Mapping[int, Sequence[int]],
    timeout_ms: int,
) -> tuple[ErrorCode, str]:
    """Ask the controller to create a topic (version 2).

    Args:
        address: The controller's.
        name: The topic.
        partitions: The number of partitions; -1 with an assignment.
        replication_factor: The number of replicas; -1 with an assignment.
        configs: The topic's settings.
        assignment: The replicas of each partition; empty to leave it to the controller.
        timeout_ms: The milliseconds for which the controller waits.

    Returns:
        The error, and the controller's words about it.
    """
    replicas = _array(
        struct.pack(">i", number) + _array(struct.pack(">i", broker) for broker in brokers)
        for number, brokers in assignment.items()
    )
    settings = _array(_text(key) + _text(value) for key, value in configs.items())
    topic = _text(name) + struct.pack(">ih", partitions, replication_factor) + replicas + settings
    answer = await _ask(address, _CREATE_TOPICS, 2, _array([topic]) + struct.pack(">i", timeout_ms) + _FALSE)
    answer.number("i")  # throttle_time_ms
    ((code, said),) = answer.array(lambda: (answer.text(), answer.number("h"), answer.text())[1:])
    return ErrorCode.from_code(code), said or ""


async def delete_topics(address: str, names: Sequence[str], timeout_ms: int) -> dict[str, ErrorCode]:
    """Ask the controller to delete topics (version 1), and return the error of each."""
    body = _array(map(_text, names)) + struct.pack(">i", timeout_ms)
    answer = await _ask(address, _DELETE_TOPICS, 1, body)
    answer.number("i")  # throttle_time_ms
    return dict(answer.array(lambda: (answer.text() or "", ErrorCode.from_code(answer.number("h")))))


async def groups(address: str) -> list[str]:
    """Ask a broker for the consumer groups that it coordinates (version 0)."""
    answer = await _ask(address, _LIST_GROUPS, 0, b"")
    answer.number("h")
    return answer.array(lambda: (answer.text() or "", answer.text())[0])


async def delete_groups(address: str, names: Sequence[str]) -> None:
    """Ask a coordinator to delete groups (version 0); those with members stay."""
    await _ask(address, _DELETE_GROUPS, 0, _array(map(_text, names)))


async def acls(address: str) -> frozenset[AclBinding]:
    """Ask a broker for the ACLs that it applies (DescribeAcls, version 1); none without an authorizer.

    Raises:
        ConnectionError: The broker refuses, which can change as it applies other ACLs.
    """
    everything = struct.pack(">b", ResourceType.ANY) + _text(None) + struct.pack(">b", PatternType.ANY)
    anybody = 2 * _text(None) + struct.pack(">bb", AclOperation.ANY, AclPermission.ANY)
    answer = await _ask(address, _DESCRIBE_ACLS, 1, everything + anybody)
    answer.number("i")  # throttle_time_ms
    code, said = ErrorCode.from_code(answer.number("h")), answer.text()
    if code is ErrorCode.SECURITY_DISABLED:
        return frozenset()
    if code is not ErrorCode.NONE:
        raise ConnectionError(f"{address} does not describe its ACLs: {code.name}: {said or code.meaning}")

    def entry() -> AccessControlEntry:
        principal, host = answer.text() or "", answer.text() or ""
        operation, permission = AclOperation(answer.number("b")), AclPermission(answer.number("b"))
        return AccessControlEntry(principal, host, operation, permission)

    def resource() -> list[AclBinding]:
        type_, name = ResourceType(answer.number("b")), answer.text() or ""
        pattern = ResourcePattern(type_, name, PatternType(answer.number("b")))
        return [AclBinding(pattern, each) for each in answer.array(entry)]

    return frozenset(binding for found in answer.array(resource) for binding in found)
