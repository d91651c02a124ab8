"""The admin client of the tools, which survives failovers.

Kafka's ``KafkaAdminClient`` refreshes its metadata and retries within ``default.api.timeout.ms``; the Python
clients keep the controller that they know. This client finds the controller before every try, and sends it a
metadata request before a request that alters something.
"""

from __future__ import annotations

import logging
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

from kafka import errors
from kafka.protocol.metadata import MetadataRequest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.local.kafka_admin import KafkaAdmin
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.command_line.servers import ServersError, demand, parse_servers, why_silent

REACH_MS = 20_000
"""The timeout in ms of the first response of any broker."""

SERVER_MS = 25_000
"""The time in ms after which the cluster answers REQUEST_TIMED_OUT."""

ANSWER_MS = 30_000
"""The timeout in ms of a response, longer so that the cluster's own timeout comes first."""

PROBE_MS = 5_000
"""The timeout in ms of a broker's response to a metadata request."""

DEADLINE_MS = 60_000
"""The time in ms for which a request is retried, as Kafka's ``default.api.timeout.ms``."""

RETRY_S = 0.2
"""The pause between two tries in seconds."""

T = TypeVar("T")


class AdminError(ToolError):
    """An error if there was no response; the text says what was tried and what failed."""


class Unreachable(AdminError):
    """An error if no broker answered at the given servers."""


class NotSupported(AdminError):
    """An error if the brokers are too old for a request."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response of the controller.

    Attributes:
        body: The response.
        tried_before: Whether an earlier try got no response and may have been carried out.
    """

    body: Any
    tried_before: bool = False

    def message_of(self, result: Any) -> str:
        """Return the tools' message for an error; ``result`` has ``error_code`` and ``error_message``."""
        text = result.error_message or ErrorCode.from_code(result.error_code).meaning
        if not self.tried_before:
            return str(text)
        return f"{text} (An earlier try of this request was not answered and may have been carried out.)"


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """A partition in a broker's metadata: number, leader (-1 for none), replicas and ISR by broker id."""

    id: int
    leader: int
    replicas: tuple[int, ...]
    isrs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """A topic in a broker's metadata: its name, and its partitions by number."""

    topic: str
    partitions: Mapping[int, PartitionMetadata]


class _Client(KafkaAdmin):
    def ask(self, request: Any, broker_id: int | None, timeout_ms: int) -> Any:
        """Send a request to a broker, or to any."""
        return self._manager.run(self._send, request, broker_id, timeout_ms)

    def _send(self, request: Any, broker_id: int | None, timeout_ms: int) -> Any:
        broker = self._manager.least_loaded_node() if broker_id is None else broker_id
        # A broker that hangs accepts connections but never answers ApiVersions.
        self._manager.get_connection(broker, timeout_ms=PROBE_MS)
        return self._manager.send(request, broker, timeout_ms)

    def refresh_metadata(self) -> None:
        """Refresh the addresses of all brokers."""
        self._manager.cluster.request_update()


class AdminClient:
    """An admin client of a cluster; a context manager.

    Args:
        servers: ``host:port`` of one or more brokers, separated by commas.
        settings: Arguments of kafka-python's admin client that win over its and our own defaults.

    Raises:
        Unreachable: None of them answered within ``REACH_MS``.
        AdminError: ``servers`` is no list of addresses.
    """

    def __init__(self, servers: str, settings: Mapping[str, Any] | None = None) -> None:
        logging.getLogger("kafka").setLevel(logging.CRITICAL)
        self._client = _reach(servers, {"request_timeout_ms": ANSWER_MS, **(settings or {})})
        self._answer_ms = int(self._client.config["request_timeout_ms"])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def ask(self, request: Any) -> Any:
        """Send a request to any broker and return its response.

        Raises:
            AdminError: No broker answered within ``DEADLINE_MS``.
        """
        return _persist(lambda: self._try(request, None, self._answer_ms), DEADLINE_MS)

    def ask_broker(self, request: Any, broker_id: int) -> Any:
        """Send a request once to a given broker and return its response.

        Raises:
            AdminError: There is no such broker, or it did not answer.
        """
        live = sorted(self.racks())
        if broker_id not in live:
            known = ", ".join(map(str, live))
            raise AdminError(f"Broker {broker_id} is not alive, or not known; expected one of {known}")
        return _persist(lambda: self._try(request, broker_id, self._answer_ms), 0)

    def ask_controller(self, request: Any, deadline_ms: int = DEADLINE_MS) -> Answer:
        """Send a request to the controller, or after its death to the next one, and return the response.

        Raises:
            AdminError: No controller answered within ``deadline_ms``.
        """
        lost = False

        def attempt() -> Answer:
            nonlocal lost
            controller = self._controller()
            before, lost = lost, True
            body = self._try(request, controller, self._answer_ms)
            lost = before
            if ErrorCode.NOT_CONTROLLER in _error_codes(body.to_dict()):
                raise errors.NotControllerError(f"Broker {controller} is not the controller any more")
            return Answer(body, tried_before=before)

        return _persist(attempt, deadline_ms)

    def racks(self) -> dict[int, str | None]:
        """Return the rack of every live broker."""
        return {broker.node_id: broker.rack for broker in self.ask(_no_topics()).brokers}

    def topics(self) -> dict[str, TopicMetadata]:
        """Return all topics by name, in order."""
        found = self.ask(MetadataRequest(topics=None, allow_auto_topic_creation=False)).topics
        return {topic.name: _topic(topic) for topic in sorted(found, key=lambda one: str(one.name))}

    def _controller(self) -> int:
        """Find the controller, and check that it answers."""
        controller = int(self._try(_no_topics(), None, PROBE_MS).controller_id)
        if controller < 0:
            raise errors.NotControllerError("There is no controller")
        self._try(_no_topics(), controller, PROBE_MS)
        return controller

    def _try(self, request: Any, broker_id: int | None, timeout_ms: int) -> Any:
        try:
            return self._client.ask(request, broker_id, timeout_ms)
        except errors.KafkaError:
            self._client.refresh_metadata()
            raise
        except (struct.error, UnicodeEncodeError) as error:
            raise AdminError(
                f"The request cannot be written: {error}; expected whole numbers of 32 bits and text in UTF-8"
            ) from error


def _reach(servers: str, settings: Mapping[str, Any]) -> _Client:
    """Connect to all servers together, then, because one may hang, to each alone."""
    try:
        each = parse_servers(servers)
    except ServersError as error:
        raise AdminError(f"--bootstrap-server: {error}") from error
    tries = [each, *([server] for server in each)] if len(each) > 1 else [each] * 4
    limits = {"bootstrap_timeout_ms": REACH_MS // len(tries), **settings}
    protocol = str(settings.get("security_protocol", "PLAINTEXT"))
    reasons: list[errors.KafkaError] = []
    for tried in tries:
        try:
            return _Client(**{**limits, "bootstrap_servers": tried})
        except errors.KafkaError as error:
            reasons.append(error)
        # Further tries cannot help a client without the TLS or the login that all listeners demand.
        if len(reasons) == 1 and all(demand(server, protocol) for server in each):
            break
    waited_s = REACH_MS / 1000 * len(reasons) / len(tries)
    raise Unreachable(
        f"No broker answered at --bootstrap-server {servers} within {waited_s:.2g} s: "
        f"{why_silent(each, protocol)}"
    ) from reasons[0]


def _persist(attempt: Callable[[], T], deadline_ms: int) -> T:
    """Retry ``attempt`` for ``deadline_ms`` while brokers are unavailable, and return its result."""
    deadline = time.monotonic() + deadline_ms / 1000
    while True:
        try:
            return attempt()
        except errors.UnsupportedVersionError as failure:
            raise NotSupported(str(failure)) from failure
        except errors.KafkaError as failure:
            passing = failure.retriable or isinstance(failure, errors.UnknownBrokerIdError)
            if not passing or deadline_ms == 0:
                raise AdminError(str(failure)) from failure
            if time.monotonic() > deadline:
                raise AdminError(f"No answer within {deadline_ms / 1000:g} s: {failure}") from failure
        time.sleep(RETRY_S)


def _no_topics() -> Any:
    return MetadataRequest(topics=[], allow_auto_topic_creation=False)


def _topic(topic: Any) -> TopicMetadata:
    return TopicMetadata(
        topic.name,
        {
            one.partition_index: PartitionMetadata(
                one.partition_index, one.leader_id, tuple(one.replica_nodes), tuple(one.isr_nodes)
            )
            for one in topic.partitions
        },
    )


def _error_codes(answer: Mapping[str, Any]) -> Iterator[int]:
    """Generate all error codes in a response, at any depth."""
    for name, value in answer.items():
        if name == "error_code":
            yield value
        elif isinstance(value, list):
            for each in value:
                if isinstance(each, Mapping):
                    yield from _error_codes(each)
