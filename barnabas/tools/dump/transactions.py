"""The texts of ``kafka-dump-log.sh --transaction-log-decoder`` for records of ``__transaction_state``.

Our brokers write no such topic; the directories of a Kafka cluster have it. Partitions are listed as the
record has them; 2.8 lists them in the order of a hash set. Sources: ``TransactionLogKey.json``,
``TransactionLogValue.json`` and ``TransactionLog.formatRecordKeyAndValue`` of Kafka 2.8.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError  # noqa: N812  (it is a class)

from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.dump.batches import Record

_DELETED = "<DELETE>"
_VERSION = 0
_STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
_NO_PARTITIONS = -1

_INT16 = Struct(">h")
_INT32 = Struct(">i")
_HEAD = Struct(">qhib")
_TIMES = Struct(">qq")


def transactions_decoder(record: Record) -> tuple[str | None, str | None]:
    """Return the texts of a record of ``__transaction_state``.

    Raises:
        ToolError: The record has no key, or one or a value of another layout.
    """
    if record.key is None:
        raise _failed("message had a missing key")
    try:
        transactional_id, _ = _string(_of_version(record.key), _INT16.size)
        value = _DELETED if record.value is None else _value(_of_version(record.value))
    except (StructError, UnicodeDecodeError, ValueError) as error:
        raise _failed(f"message had an invalid key or value at offset {record.offset}: {error}") from error
    return f"transaction_metadata::transactionalId={transactional_id}", value


def _failed(reason: str) -> ToolError:
    return ToolError(
        f"Failed to decode message using transaction topic decoder ({reason})",
    )


def _of_version(data: bytes) -> bytes:
    (version,) = _INT16.unpack_from(data)
    if version != _VERSION:
        raise ValueError(f"version {version}, expected {_VERSION}")
    return data


def _string(data: bytes, at: int) -> tuple[str, int]:
    """Return a string and the position behind it."""
    (length,) = _INT16.unpack_from(data, at)
    start, end = at + _INT16.size, at + _INT16.size + length
    if not start <= end <= len(data):
        raise ValueError(f"a string of {length} bytes at {start} of {len(data)}")
    return data[start:end].decode(), end


def _value(data: bytes) -> str:
    producer_id, epoch, timeout_ms, status = _HEAD.unpack_from(data, _INT16.size)
    if not 0 <= status < len(_STATES):
        raise ValueError(f"status {status}, expected 0 to {len(_STATES) - 1}")
    partitions, at = _partitions(data, _INT16.size + _HEAD.size)
    updated_ms, _ = _TIMES.unpack_from(data, at)
    # Kafka reads no partitions of an empty transaction.
    named = ",".join(map(str, partitions)) if status else ""
    return (
        f"producerId:{producer_id},producerEpoch:{epoch},state={_STATES[status]},partitions=[{named}],"
        f"txnLastUpdateTimestamp={updated_ms},txnTimeoutMs={timeout_ms}"
    )


def _partitions(data: bytes, at: int) -> tuple[list[TopicPartition], int]:
    """Return the partitions and the position behind them."""
    (topics,) = _INT32.unpack_from(data, at)
    at += _INT32.size
    found: list[TopicPartition] = []
    if topics == _NO_PARTITIONS:
        return found, at
    for _ in range(topics):
        topic, at = _string(data, at)
        (count,) = _INT32.unpack_from(data, at)
        at += _INT32.size
        for _ in range(count):
            found.append(TopicPartition(topic, _INT32.unpack_from(data, at)[0]))
            at += _INT32.size
    return found, at
