"""The flush of new logs' names, before the controller learns that the logs exist.

From the answer to a LeaderAndIsr request on, the controller takes a new replica's log for existing. If a
power cut removed its directory then, the replica would refuse to begin with an empty log
(`broker.core.replication.log_expectation`), and after a power cut of all brokers nobody could lead the
partition. Kafka flushes nothing there: its brokers begin with an empty log.
"""

from __future__ import annotations

import asyncio

from barnabas.broker.disk.errors import KafkaStorageError, NoDescriptorError
from barnabas.broker.replicas.hosted import HostedPartitions
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition


async def flush_names(hosted: HostedPartitions, errors: dict[TopicPartition, ErrorCode]) -> None:
    """Flush each log directory in which logs were created since its last flush, and wait for that.

    Args:
        hosted: The partitions; those of a directory whose disk refuses go offline.
        errors: The answer to the request, by partition; corrected where a flush has failed.
    """
    failure = None
    for flush in hosted.logs.begin_sync_of_names():
        try:
            await asyncio.wrap_future(flush)
        except KafkaStorageError as error:
            hosted.disk_failed(error)
            failure = error
    if failure is None:
        return
    for topic_partition, answered in errors.items():
        if topic_partition in hosted.offline:
            errors[topic_partition] = ErrorCode.KAFKA_STORAGE_ERROR
        elif isinstance(failure, NoDescriptorError) and answered is ErrorCode.NONE:
            # The controller sends the request again; the partition is then in its leader epoch already, and
            # is flushed again.
            errors[topic_partition] = ErrorCode.UNKNOWN_SERVER_ERROR
