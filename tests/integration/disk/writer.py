"""Appends to one log until it is killed: ``python writer.py DIRECTORY SEGMENT_BYTES``.

Prints the log end offset it found, then after every append the offset up to which it wrote.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import structlog
from kafka.record.default_records import DefaultRecordBatchBuilder

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.directory.log_dirs import LogDirs, LogDirsOptions
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition

RECORDS = 10
PRODUCER_ID = 42


def build(sequence: int) -> bytes:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=False,
        producer_id=PRODUCER_ID,
        producer_epoch=0,
        base_sequence=sequence,
        batch_size=1 << 20,
    )
    for index in range(RECORDS):
        builder.append(index, 1_700_000_000_000, None, b"%020d" % (sequence + index) * 50, [])
    return bytes(builder.build())


def main(directory: Path, segment_bytes: int) -> None:
    # Standard output is for numbers; that a torn batch was found is told as well.
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    options = LogDirsOptions(
        broker_id=BrokerId(1),
        cluster_id="b4rnab4sb4rnab4sb4rnab",
        config_for=lambda _: LogConfig(segment_bytes=segment_bytes),
        executor_for=lambda _: ThreadPoolExecutor(max_workers=1),
        clock=lambda: time.time_ns() // 1_000_000,
    )
    dirs = LogDirs.open([directory], options)
    log = dirs.get_or_create(TopicPartition("events", 0))
    print(log.log_end_offset, flush=True)
    while True:
        info = log.append_as_leader(build(log.log_end_offset), LeaderEpoch(0))
        print(info.required_offset, flush=True)
        if info.required_offset % 200 == 0:
            dirs.checkpoint_recovery_points()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
