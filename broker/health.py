"""The health check of a broker: ``python -m barnabas.broker.health http://127.0.0.1:9404``.

The exit code is 0 if the broker runs; otherwise it is 1, with one line on stderr. Health checks of
containers use this module, because the image has Python and no other HTTP client. They run it every few
seconds on every broker, so it uses a bare socket: importing ``urllib`` alone would take three times as
long.
"""

from __future__ import annotations

import socket
import sys

BROKER_STATE = "kafka_server_KafkaServer_BrokerState"
"""Kafka's gauge of a broker's life cycle."""

RUNNING = 3
"""The value of ``BROKER_STATE`` while clients are served (Kafka: ``BrokerState.RUNNING``)."""

ZOOKEEPER_CONNECTED = "barnabas_zookeeper_connected"
"""The gauge that is 1 while the broker is connected to ZooKeeper."""

DEADLINE_S = 2.0
"""The seconds that the metrics address may take to answer."""


def gauge(exposition: str, wanted: str) -> int | None:
    """Return the value of a gauge without labels in a metrics page, or None if it is missing."""
    for line in exposition.splitlines():
        name, _, value = line.partition(" ")
        if name == wanted:
            return int(float(value))
    return None


def page_at(url: str) -> str:
    """Return the response of ``url``, which is ``http://host:port``, with its headers.

    Raises:
        OSError: There is no answer in time.
    """
    host, _, port = url.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port)), DEADLINE_S) as connection:
        connection.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        with connection.makefile(encoding="utf-8") as answer:
            return answer.read()


def complaint(url: str) -> str | None:
    """Return why the broker with the metrics address ``url`` is not ready, in one line; None if it is."""
    try:
        page = page_at(url)
    except OSError as error:
        return f"{url} does not answer: {error}"
    state = gauge(page, BROKER_STATE)
    if state != RUNNING:
        return f"{BROKER_STATE} is {state}, expected {RUNNING}"
    if gauge(page, ZOOKEEPER_CONNECTED) != 1:
        return "the broker is not connected to ZooKeeper"
    return None


def main(arguments: list[str]) -> int:
    """Check the one address in ``arguments``; return the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m barnabas.broker.health http://HOST:PORT\n")
        return 2
    problem = complaint(arguments[0])
    if problem is not None:
        sys.stderr.write(problem + "\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
