"""A Metadata request to a given broker."""

from __future__ import annotations

from kio.schema.metadata.v9.request import MetadataRequest, MetadataRequestTopic
from kio.schema.metadata.v9.response import MetadataResponse
from kio.schema.types import TopicName

from barnabas.bench.clients.connection import Connection

_ANSWER_TIMEOUT_S = 30.0


class MetadataProbe(Connection):
    """A connection to one broker, which is asked for its metadata; a context manager.

    Args:
        address: The broker's ``host:port``.
    """

    def __init__(self, address: str) -> None:
        super().__init__(address, _ANSWER_TIMEOUT_S)

    def leaders_known(self, topic: str) -> int:
        """Return the number of partitions of ``topic`` whose leader the broker knows.

        Raises:
            ConnectionError: The broker closed the connection.
        """
        request = MetadataRequest(
            topics=(MetadataRequestTopic(name=TopicName(topic)),),
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        )
        response = self.ask(request, MetadataResponse)
        return sum(partition.leader_id >= 0 for one in response.topics for partition in one.partitions)
