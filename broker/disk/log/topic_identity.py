"""The file in a log's directory that says which topic the log belongs to.

Kafka keeps the topic's id there, too (``partition.metadata``, KIP-516). One file for all logs of a log
directory would be cheaper but could become wrong: a Kafka broker that runs on the directory deletes logs and
creates others under their names, and ignores such a file. Then a good log would be taken for a stray. A file
in the log's own directory is renamed and deleted with it, so it belongs to no other log.

The file is written before the first record, and never changes while the log is the topic's. A log whose end
offset is 0 has no record of any topic, so any topic of the name may own it: such a log has no file, and
creating a topic of many partitions writes none. A log with records but without the file is from Kafka or an
older release, and gets the file with the next LeaderAndIsr request. A missing, torn or damaged file proves
nothing: any topic of the name may own the log, and the next LeaderAndIsr request settles which one does.
"""

from __future__ import annotations

import re
from pathlib import Path

from barnabas.broker.disk.files import read_file, write_file
from barnabas.broker.disk.names import TOPIC_IDENTITY_CHECKPOINT
from barnabas.cluster.model.epochs import Zxid
from barnabas.cluster.model.ids import TopicIdentity

_CONTENT = re.compile(rb"0\n1\n([0-9]{1,19}) ([0-9]{1,19})\n")
"""The format of Kafka's checkpoints: version, number of rows, the row.

The final line break shows that nothing was cut off.
"""


class LogIdentity:
    """The topic that a log is of, and whether the file in the log's directory says so.

    Attributes:
        directory: The log's directory.
        topic: The topic, or None if it is not known.
        is_pending: Whether the topic is known and the file does not say it yet.
    """

    __slots__ = ("directory", "is_pending", "topic")

    def __init__(self, directory: Path, topic: TopicIdentity | None) -> None:
        """Create the identity; ``topic`` is what the file in ``directory`` says."""
        self.directory = directory
        self.topic = topic
        self.is_pending = False

    def assign(self, topic: TopicIdentity) -> None:
        """Set the topic; ``store`` must run before the log holds anything of it."""
        self.is_pending |= topic != self.topic
        self.topic = topic

    def store(self) -> None:
        """Write the file if it does not say the topic yet.

        Raises:
            OSError: The disk refused; the topic stays pending.
        """
        if self.is_pending and self.topic is not None:
            write_identity(self.directory, self.topic)
            self.is_pending = False


def read_identity(directory: Path) -> TopicIdentity | None:
    """Return the topic that the log in ``directory`` belongs to, or None if that is unknown.

    Raises:
        OSError: The disk refused.
    """
    try:
        found = _CONTENT.fullmatch(read_file(directory / TOPIC_IDENTITY_CHECKPOINT))
    except FileNotFoundError:
        return None
    return None if found is None else TopicIdentity(int(found[1]), Zxid(int(found[2])))


def write_identity(directory: Path, identity: TopicIdentity) -> None:
    """Record the topic that the log in ``directory`` belongs to; the log's next flush makes it durable.

    A loss of power before then leaves a log without an identity, and without flushed records.

    Raises:
        OSError: The disk refused.
    """
    content = f"0\n1\n{identity.tree} {identity.topic}\n".encode()
    write_file(directory / TOPIC_IDENTITY_CHECKPOINT, content, durable=False)
