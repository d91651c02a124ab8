"""Consumer groups and their lag, requested from brokers only while somebody looks at the page."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping
from typing import Any

from kafka.errors import KafkaError

from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.client_login import ClientLogin, kafka_python
from barnabas.local.kafka_admin import KafkaAdmin
from barnabas.page.model import Json

_TIMEOUT_MS = 5_000


class GroupReader:
    """Reads the groups of a cluster.

    The client is kafka-python's: librdkafka's admin client may end the process if a group's coordinator
    dies or moves (docs/compatibility.md), and the page is there to watch brokers die.

    Args:
        bootstrap: ``bootstrap.servers``.
        login: The login at the brokers; None if they want none.
    """

    def __init__(self, bootstrap: str, login: ClientLogin | None = None) -> None:
        self._bootstrap = bootstrap
        self._login = login
        self._admin: Any = None
        logging.getLogger("kafka").setLevel(logging.CRITICAL + 1)  # the page itself shows dead brokers

    def read(self, end_offsets: Mapping[TopicPartition, int]) -> list[Json] | None:
        """Return each group with its state, members and lag, by name; blocks for some seconds at most.

        Args:
            end_offsets: The log end offset of each partition's leader.

        Returns:
            The groups; None if they are unknown, because a broker that may coordinate some did not answer.
        """
        try:
            if self._admin is None:
                self._admin = KafkaAdmin(
                    bootstrap_servers=self._bootstrap.split(","),
                    request_timeout_ms=_TIMEOUT_MS,
                    bootstrap_timeout_ms=_TIMEOUT_MS,
                    **kafka_python(self._login),
                )
            names = sorted({group["group_id"] for group in self._admin.list_groups()})
            described = self._admin.describe_groups(names) if names else {}
            committed = self._admin.list_group_offsets(names) if names else {}
        except KafkaError:
            self.close()  # the next try finds brokers and coordinators again
            return None
        return [_group(described[name], committed[name], end_offsets) for name in names]

    def close(self) -> None:
        """Close the connections; they are opened again when they are needed."""
        admin, self._admin = self._admin, None
        if admin is not None:
            with contextlib.suppress(KafkaError):
                admin.close()


def _group(
    described: Mapping[str, Any], committed: Mapping[Any, Any], end_offsets: Mapping[TopicPartition, int]
) -> Json:
    offsets = {TopicPartition(*tp): each.offset for tp, each in committed.items()}
    lag = sum(max(0, end_offsets.get(tp, offset) - offset) for tp, offset in offsets.items() if offset >= 0)
    return {
        "name": described["group_id"],
        "state": _words(described["group_state"]),
        "members": len(described["members"]),
        "partitions": len(offsets),
        "lag": lag,
    }


def _words(state: str) -> str:
    """Return a state's name as words: ``PreparingRebalance`` is "preparing rebalance".

    >>> _words("PreparingRebalance")
    'preparing rebalance'
    """
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in state).strip()
