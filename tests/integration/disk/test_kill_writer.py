"""A process that appends is killed with SIGKILL; what it said it wrote is there at the next opening."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from aiokafka.record.default_records import DefaultRecordBatch

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.directory.log_dirs import LogDirs, LogDirsOptions
from barnabas.broker.disk.log.log import Log
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from tests.batches import whole_batches

WRITER = Path(__file__).with_name("writer.py")
TP = TopicPartition("events", 0)
RECORDS = 10
MEGABYTE = 1 << 20


def run_and_kill(directory: Path, segment_bytes: int, appends: int) -> tuple[int, int]:
    """The log end that a writer found, and the last it reported before SIGKILL met it."""
    command = [sys.executable, str(WRITER), str(directory), str(segment_bytes)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        found = int(writer.stdout.readline())
        for _ in range(appends):
            writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        lines = writer.stdout.read().splitlines(keepends=True)
    reported = [int(line) for line in lines if line.endswith("\n")]
    return found, max(reported, default=found + appends * RECORDS)


def values(log: Log) -> list[bytes]:
    out, offset = [], log.log_start_offset
    while offset < log.log_end_offset:
        part = log.read(offset, MEGABYTE, log.log_end_offset)
        offset = part.next_offset
        for batch in whole_batches(part.records):
            assert batch.has_valid_crc
            out += [record.value for record in DefaultRecordBatch(bytes(batch.data))]
    return out


@pytest.fixture
def options():
    with ThreadPoolExecutor(max_workers=1) as executor:
        yield LogDirsOptions(
            broker_id=BrokerId(1),
            cluster_id="b4rnab4sb4rnab4sb4rnab",
            config_for=lambda _: LogConfig(),
            executor_for=lambda _: executor,
            clock=lambda: 0,
        )


def test_what_was_reported_survives_every_kill(tmp_path, options):
    reported = 0
    for appends in (1, 30, 75, 200):
        found, now = run_and_kill(tmp_path, 300_000, appends)
        assert found >= reported
        reported = now
    dirs = LogDirs.open([tmp_path], options)
    log = dirs.get(TP)
    end = log.log_end_offset
    assert end >= reported
    assert end % RECORDS == 0
    assert values(log) == [b"%020d" % n * 50 for n in range(end)]

    last = log.read(end - 1, 1, end).records
    retry = bytes(8) + last[8:]
    again = log.append_as_leader(retry, LeaderEpoch(1))
    assert (again.duplicate, again.first_offset) == (True, end - RECORDS)
    dirs.close()
    assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == f"0\n1\nevents 0 {end}\n"
