"""Brokers without ZooKeeper, and log4j itself."""

from __future__ import annotations

import pytest

from cluster.model.statechange.kinds import Kind
from cluster.model.statechange.kraft_table import KRAFT_TABLE
from cluster.model.statechange.reader import read_message
from cluster.model.statechange.table import OURS
from cluster.model.statechange.template import Speaker


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Transitioning 3 partition(s) to local leaders.", Kind.KRAFT_TRANSITIONING),
        ("Transitioning 0 partition(s) to local followers.", Kind.KRAFT_TRANSITIONING),
        ("Creating new partition t-0 with topic id 2-3qO3o8RgetP5oocXJFcQ.", Kind.KRAFT_PARTITION_CREATED),
        (
            (
                "Expected partition t-0 with topic id 2-3qO3o8RgetP5oocXJFcQ to exist, but it was missing. "
                "Creating..."
            ),
            Kind.KRAFT_PARTITION_MISSING,
        ),
        ("Stopped fetchers as part of controlled shutdown for 51 partitions", Kind.KRAFT_FETCHERS_STOPPED),
        ("Deleting 1 partition(s).", Kind.KRAFT_DELETING),
        (
            (
                "Unable to start fetching t-0 with topic ID 2-3qO3o8RgetP5oocXJFcQ because the "
                "replica manager is shutting down."
            ),
            Kind.KRAFT_FETCHING_FAILED,
        ),
    ],
)
def test_a_kraft_broker_is_understood(text: str, kind: Kind) -> None:
    assert read_message(f"[Broker id=1] {text}").kind is kind


def test_log4j_announces_the_logger_and_nobody_speaks() -> None:
    message = read_message(
        "preRegister called. Server=com.sun.jmx.mbeanserver.JmxMBeanServer@66d3c617, "
        "name=log4j:logger=state.change.logger"
    )
    assert (message.kind, message.speaker, message.speaker_id) == (
        Kind.LOGGER_REGISTERED,
        Speaker.NOBODY,
        None,
    )


def test_no_broker_of_ours_writes_one_of_these() -> None:
    assert not set(KRAFT_TABLE) & set(OURS.values())
