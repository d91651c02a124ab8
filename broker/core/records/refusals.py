"""The reasons for refusing a batch, each with the error code of the response.

The reasons follow ``LogValidator.scala``, ``Log.scala`` (``analyzeAndValidateRecords``) and
``ProducerStateManager.scala`` of Kafka 2.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from barnabas.cluster.model.errors import ErrorCode


class Reason(Enum):
    """A named reason for refusing a batch.

    Attributes:
        error: The error code in the response.
        meaning: A clause for logs and error messages.
    """

    error: ErrorCode
    meaning: str

    def __init__(self, error: ErrorCode, meaning: str) -> None:
        self.error = error
        self.meaning = meaning

    NO_BATCH = ErrorCode.INVALID_RECORD, "the record field holds no whole batch"
    SEVERAL_BATCHES = ErrorCode.INVALID_RECORD, "the record field holds more than one batch"
    BAD_FRAME = ErrorCode.CORRUPT_MESSAGE, "the batch length is smaller than any batch"
    BAD_MAGIC = ErrorCode.CORRUPT_MESSAGE, "the magic byte is unknown to Kafka"
    OLD_MAGIC = ErrorCode.INVALID_RECORD, "the message format is older than version 2"
    NONZERO_BASE_OFFSET = ErrorCode.INVALID_RECORD, "a client's batch does not start at offset 0"
    TOO_LARGE = ErrorCode.MESSAGE_TOO_LARGE, "the batch is larger than max.message.bytes"
    LARGER_THAN_SEGMENT = ErrorCode.RECORD_LIST_TOO_LARGE, "the batch is larger than segment.bytes"
    SHORTER_THAN_HEADER = ErrorCode.CORRUPT_MESSAGE, "the batch is shorter than its header"
    BAD_CRC = ErrorCode.CORRUPT_MESSAGE, "the CRC-32C does not match the bytes"
    NO_RECORDS = ErrorCode.INVALID_RECORD, "the batch counts no records"
    BAD_COUNT = ErrorCode.INVALID_RECORD, "the record count does not match lastOffsetDelta"
    CONTROL_FROM_CLIENT = ErrorCode.INVALID_RECORD, "a client may not write control batches"
    TRANSACTIONAL_FROM_CLIENT = (
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        "the batch belongs to a transaction, and transactions are not served",
    )
    SEQUENCE_MISSING = ErrorCode.INVALID_RECORD, "a batch with a producer id has no sequence"
    # Release 2.8 answers so, too: CompressionType.forId throws an exception without an error code.
    UNKNOWN_CODEC = ErrorCode.UNKNOWN_SERVER_ERROR, "no compression codec has this number"
    BAD_RECORD_LENGTH = ErrorCode.INVALID_RECORD, "a record's length does not fit into the batch"
    RECORDS_MISCOUNTED = ErrorCode.INVALID_RECORD, "the batch holds another number of records than it counts"
    UNREADABLE_RECORDS = ErrorCode.INVALID_RECORD, "the records cannot be read for recompression"
    KEY_MISSING = ErrorCode.INVALID_RECORD, "One or more records have been rejected"
    LOG_APPEND_TIME_FROM_CLIENT = (
        ErrorCode.INVALID_TIMESTAMP,
        "a client may not set the timestamp type LogAppendTime",
    )
    TIMESTAMP_OUT_OF_RANGE = (
        ErrorCode.INVALID_TIMESTAMP,
        "a timestamp is further from now than message.timestamp.difference.max.ms",
    )
    OFFSETS_NOT_MONOTONIC = ErrorCode.UNKNOWN_SERVER_ERROR, "fetched batches do not follow the log end offset"
    STALE_PRODUCER_EPOCH = (
        ErrorCode.INVALID_PRODUCER_EPOCH,
        "the producer's epoch is older than the known one",
    )
    NEW_EPOCH_NOT_AT_ZERO = (
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        "the first batch of a new producer epoch does not start at sequence 0",
    )
    SEQUENCE_GAP = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, "the batch does not follow the producer's last one"


@dataclass(frozen=True, slots=True)
class RecordFault:
    """A fault of one record of a refused batch (KIP-467).

    Attributes:
        index: The record's place in its batch, from 0.
        message: The fault in words.
    """

    index: int
    message: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused batch, and the reason.

    Attributes:
        reason: The named reason; its ``error`` goes to the client.
        detail: The values found and expected; empty if Kafka's message does not have them.
        faults: The records at fault, if single ones are.
    """

    reason: Reason
    detail: str
    faults: tuple[RecordFault, ...] = ()

    @property
    def error(self) -> ErrorCode:
        """The error code of the response."""
        return self.reason.error

    def __str__(self) -> str:
        return f"{self.reason.meaning}: {self.detail}" if self.detail else self.reason.meaning
