"""Brokers without ZooKeeper, and log4j itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from barnabas.analysis.reading.events.kinds import OtherKind
from barnabas.cluster.model.statechange import Message
from barnabas.cluster.model.statechange.template import Speaker

Said = Callable[[str], Message]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Transitioning 3 partition(s) to local leaders.", OtherKind.KRAFT_TRANSITIONING),
        ("Transitioning 0 partition(s) to local followers.", OtherKind.KRAFT_TRANSITIONING),
        (
            "Creating new partition t-0 with topic id 2-3qO3o8RgetP5oocXJFcQ.",
            OtherKind.KRAFT_PARTITION_CREATED,
        ),
        (
            (
                "Expected partition t-0 with topic id 2-3qO3o8RgetP5oocXJFcQ to exist, but it was missing. "
                "Creating..."
            ),
            OtherKind.KRAFT_PARTITION_MISSING,
        ),
        (
            "Stopped fetchers as part of controlled shutdown for 51 partitions",
            OtherKind.KRAFT_FETCHERS_STOPPED,
        ),
        ("Started fetchers as part of become-follower for 9 partitions", OtherKind.KRAFT_FETCHERS_STARTED),
        ("Deleting 1 partition(s).", OtherKind.KRAFT_DELETING),
        (
            (
                "Unable to start fetching t-0 with topic ID 2-3qO3o8RgetP5oocXJFcQ because the "
                "replica manager is shutting down."
            ),
            OtherKind.KRAFT_FETCHING_FAILED,
        ),
    ],
)
def test_a_kraft_broker_is_understood(text: str, kind: OtherKind, said: Said) -> None:
    assert said(f"[Broker id=1] {text}").kind is kind


def test_log4j_announces_the_logger_and_nobody_speaks(said: Said) -> None:
    message = said(
        "preRegister called. Server=com.sun.jmx.mbeanserver.JmxMBeanServer@66d3c617, "
        "name=log4j:logger=state.change.logger"
    )
    assert (message.kind, message.speaker, message.speaker_id) == (
        OtherKind.LOGGER_REGISTERED,
        Speaker.NOBODY,
        None,
    )
