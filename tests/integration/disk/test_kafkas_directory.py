"""A log directory as Kafka 2.8 leaves it, after a stop and after a kill, laid out here byte by byte.

Batches are built by two client libraries; indexes, snapshots and checkpoints by the rules of ``LogSegment``,
``ProducerStateManager`` and ``CheckpointFile`` of release 2.8, without a line of ours.
"""

from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from aiokafka.record.memory_records import MemoryRecords
from crc32c import crc32c
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.directory.log_dirs import LogDirs, LogDirsOptions
from barnabas.broker.disk.log.lookup import offset_at
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import BrokerId, Offset, TopicPartition
from barnabas.cluster.model.steps import at_once

TP = TopicPartition("orders", 0)
CLUSTER_ID = "b4rnab4sb4rnab4sb4rnab"
NOW = 1_700_000_000_000
INTERVAL = 300
INDEX_BYTES = 1_000
CONFIG = LogConfig(segment_bytes=1_500, index_interval_bytes=INTERVAL, segment_index_bytes=INDEX_BYTES)
PRODUCER = 4000
CLEANER = Path("cleaner-offset-checkpoint")
BATCHES = 24
START = 3
EPOCHS = [(0, 0), (2, 18), (5, 40)]


@cache  # gzip notes the time
def build(number):
    """Batch ``number``, of two records, at its place in the log; every second is an idempotent producer's."""
    base, is_idempotent = 2 * number, number % 2 == 0
    encoder = AiokafkaBuilder if number % 3 else KafkaPythonBuilder
    builder = encoder(
        magic=2,
        compression_type=number % 5 if encoder is AiokafkaBuilder else 0,
        is_transactional=False,
        producer_id=PRODUCER if is_idempotent else -1,
        producer_epoch=3 if is_idempotent else -1,
        base_sequence=number if is_idempotent else -1,
        batch_size=1 << 20,
    )
    for index in range(2):
        builder.append(index, timestamp=time_of(base + index), key=b"%d" % base, value=b"v" * 40, headers=[])
    built = bytes(builder.build())
    epoch = max(epoch for epoch, start in EPOCHS if start <= base)
    return struct.pack(">qii", base, len(built) - 12, epoch) + built[16:]


def time_of(offset):
    """Milliseconds; not in order."""
    return NOW + offset * 1000 - (5000 if offset % 7 == 0 else 0)


def lay_out_segments():
    """The segments as lists of batch numbers."""
    segments, size = [[]], 0
    for number in range(BATCHES):
        data = build(number)
        if size + len(data) > CONFIG.segment_bytes:
            segments.append([])
            size = 0
        segments[-1].append(number)
        size += len(data)
    return segments


def indexes(numbers, *, is_ended, is_recovered):
    """The bytes of both indexes.

    Those of a segment that gets no more batches end with its largest timestamp. A leader notes at which
    record that was, recovery the last one of its batch.
    """
    base, position, since = 2 * numbers[0], 0, 0
    newest = (-1, 0)
    offsets, times = [], []
    for number in numbers:
        data = build(number)
        for offset in (2 * number, 2 * number + 1):
            if time_of(offset) > newest[0]:
                newest = (time_of(offset), (2 * number + 1 if is_recovered else offset) - base)
        if since > INTERVAL:
            offsets.append((2 * number + 1 - base, position))
            if not times or newest[0] > times[-1][0]:
                times.append(newest)
            since = 0
        since += len(data)
        position += len(data)
    if is_ended and (not times or newest[0] > times[-1][0]):
        times.append(newest)
    return (
        b"".join(struct.pack(">ii", *entry) for entry in offsets),
        b"".join(struct.pack(">qi", *entry) for entry in times),
    )


def snapshot(end):
    """What Kafka remembers of the producer below ``end``: its newest batch alone."""
    written = [number for number in range(end // 2) if number % 2 == 0]
    rows = b""
    if written:
        last = 2 * written[-1] + 1
        rows = struct.pack(
            ">qhiqiqiq", PRODUCER, 3, written[-1] + 1, last, 1, max(time_of(last), time_of(last - 1)), -1, -1
        )
    body = struct.pack(">i", len(rows) // 46) + rows
    return struct.pack(">hI", 1, crc32c(body)) + body


def lay_out(path, *, is_clean, is_recovered=False):
    """A directory after a clean stop, its last segment recovered before or not; else after a kill."""
    end, segments = 2 * BATCHES, lay_out_segments()
    assert len(segments) > 2
    partition = path / "orders-0"
    partition.mkdir(parents=True)
    for numbers in segments:
        name, is_active = partition / f"{2 * numbers[0]:020d}", numbers is segments[-1]
        batches = b"".join(build(number) for number in numbers)
        offset_index, time_index = indexes(
            numbers, is_ended=is_clean or not is_active, is_recovered=is_recovered and is_active
        )
        if is_active and not is_clean:
            batches += build(BATCHES)[:50]
            offset_index = offset_index.ljust(INDEX_BYTES // 8 * 8, b"\0")
            time_index = time_index.ljust(INDEX_BYTES // 12 * 12, b"\0")
        name.with_suffix(".log").write_bytes(batches)
        name.with_suffix(".index").write_bytes(offset_index)
        name.with_suffix(".timeindex").write_bytes(time_index)
        if numbers[0]:
            name.with_suffix(".snapshot").write_bytes(snapshot(2 * numbers[0]))
    epochs = "".join(f"{epoch} {max(start, START)}\n" for epoch, start in EPOCHS)
    (partition / "leader-epoch-checkpoint").write_text(f"0\n{len(EPOCHS)}\n{epochs}")
    (partition / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    flushed = end if is_clean else 2 * segments[-1][0]
    files = {
        "meta.properties": f"#\n#Tue Nov 14\ncluster.id={CLUSTER_ID}\nbroker.id=7\nversion=0\n",
        "recovery-point-offset-checkpoint": f"0\n1\norders 0 {flushed}\n",
        "replication-offset-checkpoint": f"0\n1\norders 0 {end - 4}\n",
        "log-start-offset-checkpoint": f"0\n1\norders 0 {START}\n",
        "cleaner-offset-checkpoint": "0\n0\n",
        ".lock": "",
    }
    if is_clean:
        files[".kafka_cleanshutdown"] = ""
        (partition / f"{end:020d}.snapshot").write_bytes(snapshot(end))
    for name, text in files.items():
        (path / name).write_text(text)


@pytest.fixture(params=["stopped", "killed"])
def is_clean(request):
    return request.param == "stopped"


@pytest.fixture
def path(tmp_path, is_clean):
    lay_out(tmp_path / "kafka-logs", is_clean=is_clean)
    return tmp_path / "kafka-logs"


@pytest.fixture
def dirs(path):
    with ThreadPoolExecutor(max_workers=1) as executor:
        options = LogDirsOptions(
            BrokerId(7), CLUSTER_ID, lambda _: CONFIG, lambda _: executor, lambda: NOW + 60_000
        )
        opened = LogDirs.open([path], options)
        yield opened
        opened.close()


def contents(path):
    return {file.relative_to(path): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_every_record_is_read(dirs):
    log = dirs.get(TP)
    assert (log.log_start_offset, log.log_end_offset, dirs.high_watermark(TP)) == (START, 48, 44)
    found, offset = [], Offset(START)
    while offset < log.log_end_offset:
        read = log.read(offset, 10_000, log.log_end_offset)
        records = MemoryRecords(bytes(read.records))
        while records.has_next():
            found += [(r.offset, r.timestamp, r.key, r.value) for r in records.next_batch()]
        offset = read.next_offset
    expected = [(n, time_of(n), b"%d" % (n // 2 * 2), b"v" * 40) for n in range(2, 48)]
    assert found == expected


def test_every_offset_time_and_epoch_is_found(dirs):
    log = dirs.get(TP)
    for offset in range(START, 48):
        first = log.read(Offset(offset), 1, log.log_end_offset).records
        assert struct.unpack_from(">q", first)[0] == offset // 2 * 2
        at = next(n for n in range(START, 48) if time_of(n) >= time_of(offset))
        assert at_once(offset_at(log, time_of(offset)))[:2] == (time_of(at), at)
    assert [log.end_offset_for(LeaderEpoch(epoch)) for epoch in (0, 2, 5)] == [(0, 18), (2, 40), (5, 48)]


def test_the_producer_goes_on(dirs):
    log = dirs.get(TP)
    last = bytes(8) + build(BATCHES - 2)[8:]
    again = log.append_as_leader(last, LeaderEpoch(6))
    assert (again.duplicate, again.first_offset) == (True, 2 * BATCHES - 4)
    following = bytes(8) + build(BATCHES)[8:]
    assert log.append_as_leader(following, LeaderEpoch(6)).first_offset == 2 * BATCHES


def test_after_a_stop_it_is_as_kafka_would_leave_it(path, dirs, is_clean, tmp_path):
    dirs.close()
    expected = tmp_path / "as-kafka"
    lay_out(expected, is_clean=True, is_recovered=not is_clean)
    wanted, found = contents(expected), contents(path)
    if not is_clean:  # a snapshot of ours has more rows of a producer whose batches it has read
        last = Path("orders-0", f"{2 * BATCHES:020d}.snapshot")
        assert wanted.pop(last)[10:] == found.pop(last)[-46:]
    # The log may have gaps: Kafka would accept them anywhere, and a broker of ours has it from this row.
    assert found.pop(CLEANER) == f"0\n1\norders 0 {START}\n".encode()
    assert wanted.pop(CLEANER) == b"0\n0\n"
    assert found == wanted
