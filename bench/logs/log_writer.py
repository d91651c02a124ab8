"""A process that appends to one log as fast as it can until it is killed.

``python -m barnabas.bench.logs.log_writer DIRECTORY`` prints the log end offset after each append.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import structlog
from crc32c import crc32c

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.record_batch import CRC_START, HEADER, HEADER_SIZE, MAGIC, Codec
from barnabas.broker.core.records.refusals import Refusal
from barnabas.broker.disk.directory.log_dirs import LogDirs, LogDirsOptions
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition

TP = TopicPartition("bench", 0)
RECORDS_PER_BATCH = 64
RECORD_SIZE = 1_000

_MORE = 0x80
_SEVEN_BITS = 0x7F


def build_batch(records: int = RECORDS_PER_BATCH, size: int = RECORD_SIZE) -> bytes:
    """Build a batch of records without keys, with values of ``size`` bytes."""
    value = bytes(number % 251 for number in range(size))
    body = bytearray()
    for number in range(records):
        fields = (0, number, -1, size)  # timestamp and offset from the batch's, key length, value length
        record = b"\0" + b"".join(map(_varint, fields)) + value + _varint(0)
        body += _varint(len(record)) + record
    now_ms = time.time_ns() // 1_000_000
    length = HEADER_SIZE - 12 + len(body)
    fields_of_header = (
        *(0, length, -1, MAGIC, 0),
        *(Codec.UNCOMPRESSED, records - 1, now_ms, now_ms, -1, -1, -1, records),
    )
    batch = bytearray(HEADER.pack(*fields_of_header) + body)
    batch[CRC_START - 4 : CRC_START] = crc32c(batch[CRC_START:]).to_bytes(4)
    return bytes(batch)


def _varint(number: int) -> bytes:
    """Encode a zig-zag integer."""
    rest = number << 1 if number >= 0 else (-number << 1) - 1
    out = bytearray()
    while rest > _SEVEN_BITS:
        out.append(rest & _SEVEN_BITS | _MORE)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def open_directory(directory: Path, executor: ThreadPoolExecutor) -> LogDirs:
    """Open the directory as a broker with default settings does."""
    options = LogDirsOptions(
        broker_id=BrokerId(1),
        cluster_id="barnabas-bench-cluster",
        config_for=lambda _: LogConfig(),
        executor_for=lambda _: executor,
        clock=lambda: time.time_ns() // 1_000_000,
    )
    return LogDirs.open([directory], options)


def main(directory: Path) -> None:
    """Append until killed.

    Raises:
        ValueError: The log refused the batch.
    """
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))  # the numbers go to stdout
    with ThreadPoolExecutor(max_workers=1) as executor:
        log = open_directory(directory, executor).get_or_create(TP)
        batch = build_batch()
        while True:
            info = log.append_as_leader(batch, LeaderEpoch(0))
            if isinstance(info, Refusal):
                raise ValueError(str(info))
            print(info.required_offset, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
