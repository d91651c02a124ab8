"""The reading of committed batches for another replica whose own are damaged.

Kafka has no such request. It is not a fetch: the leader concludes nothing from it about the other replica's
log.
"""

from __future__ import annotations

from barnabas.broker.disk.errors import CorruptLogError, KafkaStorageError
from barnabas.broker.disk.log.results import OffsetOutOfRange
from barnabas.broker.replicas.hosted import HostedPartitions
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.rpc import replication_pb2 as pb

MOST_BYTES = 57_671_680
"""The most bytes of one answer to another broker, whatever it requests, beyond one batch.

It is the default of ``fetch.max.bytes``, which bounds followers in Kafka, too
(``KafkaApis.handleFetchRequest``).
"""


class RangeReader:
    """The server of ReadRange, from the logs of leaders and followers alike.

    Args:
        hosted: The partitions.
    """

    def __init__(self, hosted: HostedPartitions) -> None:
        self._hosted = hosted

    def read(self, request: pb.ReadRangeRequest) -> pb.ReadRangeResponse:
        """Return whole batches from the one that holds the offset on, below the high watermark, or an error.

        Both replicas must be in the same leader epoch: then they are equal below their high watermarks.
        """
        topic_partition = TopicPartition(request.topic, request.partition)
        partition = self._hosted.get(topic_partition)
        if partition is None:
            return pb.ReadRangeResponse(error_code=self._hosted.absence(topic_partition))
        asked, known = LeaderEpoch(request.current_leader_epoch), partition.replica.leader_epoch
        if asked != known:
            is_old = asked < known
            error = ErrorCode.FENCED_LEADER_EPOCH if is_old else ErrorCode.UNKNOWN_LEADER_EPOCH
            return pb.ReadRangeResponse(error_code=error)
        try:
            end = partition.replica.high_watermark
            limit = min(request.max_bytes, MOST_BYTES)
            found = partition.log.read(Offset(request.offset), limit, end)
        except KafkaStorageError as error:
            self._hosted.disk_failed(error)
            return pb.ReadRangeResponse(error_code=error.error)
        except CorruptLogError as error:
            self._hosted.on_corrupt(partition, error)
            return pb.ReadRangeResponse(error_code=error.error)
        if isinstance(found, OffsetOutOfRange):
            return pb.ReadRangeResponse(error_code=found.error)
        return pb.ReadRangeResponse(records=found.records, gaps_end=partition.log.compaction.gaps_end)
