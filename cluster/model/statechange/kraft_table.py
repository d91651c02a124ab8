"""The lines that no ZooKeeper cluster of 2.8 writes: brokers under KRaft, and the logger itself.

Source: state-change-in-the-wild.md, section 2. KRaft's controller does not use this logger at all.
"""

from __future__ import annotations

from cluster.model.statechange.kinds import Kind
from cluster.model.statechange.template import Speaker, Template, row

_B = Speaker.BROKER

KRAFT_TABLE: tuple[Template, ...] = (
    row(
        Kind.KRAFT_TRANSITIONING, _B, "INFO", "2.8+",
        "Transitioning <count> partition(s) to local leaders.",
    ),
    row(
        Kind.KRAFT_TRANSITIONING, _B, "INFO", "2.8+",
        "Transitioning <count> partition(s) to local followers.",
    ),
    row(
        Kind.KRAFT_PARTITION_CREATED, _B, "INFO", "2.8+",
        "Creating new partition <tp> with topic id <topic_id:text>.",
    ),
    row(
        Kind.KRAFT_PARTITION_MISSING, _B, "ERROR", "3.0+",
        "Expected partition <tp> with topic id <topic_id:text> to exist, but it was missing. Creating...",
    ),
    row(
        Kind.KRAFT_PARTITION_MISSING, _B, "ERROR", "3.0+",
        "Expected partition <tp> to exist, but it was missing. Creating...",
    ),
    row(
        Kind.FOLLOWER_FETCHERS_STOPPED, _B, "INFO", "2.8+",
        "Stopped fetchers as part of <transition=become-follower> for <count> partitions",
    ),
    row(
        Kind.KRAFT_FETCHERS_STOPPED, _B, "INFO", "3.0+",
        "Stopped fetchers as part of controlled shutdown for <count> partitions",
    ),
    row(
        Kind.LOGGER_REGISTERED, Speaker.NOBODY, "DEBUG", "0.8 to 2.5",
        "PreRegister called. Server=<server:text>, name=log4j:logger=state.change.logger",
    ),
)  # fmt: skip
"""Every line of a KRaft broker that differs from those of a broker under ZooKeeper, and log4j's own."""
