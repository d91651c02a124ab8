"""A directory as it lies on disk, of batches that two client libraries built, read by other eyes than ours.

Every field of every file is compared: batches with the clients' own readers, the other files with the layouts
that Kafka 2.8 documents in its sources, taken apart here byte by byte.
"""

from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from aiokafka.record.memory_records import MemoryRecords as AiokafkaRecords
from crc32c import crc32c
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder
from kafka.record.memory_records import MemoryRecords as KafkaPythonRecords

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.directory.log_dirs import LogDirs, LogDirsOptions
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition

TP = TopicPartition("a.topic_with-dashes", 3)
NOW = 1_700_000_000_000
CONFIG = LogConfig(segment_bytes=2_000, index_interval_bytes=300, segment_index_bytes=1_000)
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4

RECORDS = [
    (b"key", b"value", [("header", b"1"), ("header", None), ("", b"")]),
    (None, b"v" * 90, []),
    (b"", b"", []),
    (b"tombstone", None, [("h\u00e9", b"\x00\xff")]),
]


@dataclass
class Written:
    """A batch as it was handed in."""

    encoder: type
    codec: int
    producer: tuple[int, int, int]
    timestamps: list[int]
    epoch: int
    base_offset: int = -1

    @cached_property
    def built(self) -> bytes:
        """Its bytes; built once, as gzip notes the time."""
        producer_id, epoch, sequence = self.producer
        builder = self.encoder(
            magic=2,
            compression_type=self.codec,
            is_transactional=False,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            batch_size=1 << 20,
        )
        for index, (time, (key, value, headers)) in enumerate(zip(self.timestamps, RECORDS, strict=True)):
            builder.append(index, timestamp=time, key=key, value=value, headers=headers)
        return bytes(builder.build())

    @property
    def last_offset(self) -> int:
        return self.base_offset + len(RECORDS) - 1


def batches() -> list[Written]:
    """Both encoders, every codec, with and without producers, timestamps that also fall."""
    out = []
    for number in range(24):
        encoder = (KafkaPythonBuilder, AiokafkaBuilder)[number % 2]
        codec = (0, GZIP, 0, SNAPPY, 0, LZ4, 0, ZSTD)[number % 8] if encoder is AiokafkaBuilder else 0
        time = NOW + (number * 7919) % 50 * 1000
        producer = (4000 + number % 2, 1, 4 * (number // 6)) if number % 3 == 0 else (-1, -1, -1)
        times = [time, time + 10, time - 3, time + 10]
        out.append(Written(encoder, codec, producer, times, number // 10))
    return out


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A directory after a clean stop, and what was written to it."""
    path = tmp_path_factory.mktemp("format")
    batches_ = batches()
    with ThreadPoolExecutor(max_workers=1) as executor:
        options = LogDirsOptions(
            BrokerId(7), "b4rnab4sb4rnab4sb4rnab", lambda _: CONFIG, lambda _: executor, lambda: NOW
        )
        dirs = LogDirs.open([path], options)
        log = dirs.get_or_create(TP)
        for each in batches_:
            each.base_offset = log.append_as_leader(each.built, LeaderEpoch(each.epoch)).first_offset
        dirs.checkpoint_high_watermarks({TP: 90})
        log.raise_log_start(5)
        dirs.checkpoint_log_start_offsets()
        dirs.close()
    return path, batches_


def segments(path):
    """Base offset and content of each segment, lowest first."""
    files = sorted((path / str(TP)).glob("*.log"))
    assert all(len(file.stem) == 20 for file in files)
    return [(int(file.stem), file.read_bytes()) for file in files]


def split(content):
    """Position and bytes of each batch."""
    position = 0
    while position < len(content):
        (length,) = struct.unpack_from(">i", content, position + 8)
        yield position, content[position : position + 12 + length]
        position += 12 + length
    assert position == len(content)


def test_every_field_of_every_header(written):
    path, batches_ = written
    found = [data for _, content in segments(path) for _, data in split(content)]
    assert len(found) == len(batches_)
    for data, batch in zip(found, batches_, strict=True):
        built = batch.built
        producer_id, producer_epoch, sequence = batch.producer
        assert struct.unpack(">qiibIhiqqqhii", data[:61]) == (
            batch.base_offset,
            len(built) - 12,
            batch.epoch,
            2,
            crc32c(data[21:]),
            batch.codec,
            len(RECORDS) - 1,
            batch.timestamps[0],
            max(batch.timestamps),
            producer_id,
            producer_epoch,
            sequence,
            len(RECORDS),
        )
        assert data[16:] == built[16:]
    assert [batch.base_offset for batch in batches_] == [4 * number for number in range(len(batches_))]


@pytest.mark.parametrize("reader", [KafkaPythonRecords, AiokafkaRecords], ids=["kafka-python", "aiokafka"])
def test_the_clients_read_every_record(written, reader):
    path, batches_ = written
    expected = [
        (batch.base_offset + index, time, 0, key, value, [tuple(header) for header in headers])
        for batch in batches_
        for index, (time, (key, value, headers)) in enumerate(zip(batch.timestamps, RECORDS, strict=True))
        if batch.codec in {0, GZIP, LZ4} or reader is AiokafkaRecords
    ]
    found = []
    for _, content in segments(path):
        records = reader(content)
        while records.has_next():
            batch = records.next_batch()
            assert batch.validate_crc()
            if reader is KafkaPythonRecords and batch.compression_type in {SNAPPY, ZSTD}:
                continue  # their packages are not installed
            found += [
                (r.offset, r.timestamp, r.timestamp_type, r.key, r.value, [tuple(h) for h in r.headers])
                for r in batch
            ]
    assert found == expected


def test_segments_roll_before_they_grow_too_large(written):
    path, batches_ = written
    size, base, bases = 0, 0, [0]
    for batch in batches_:
        if size + len(batch.built) > CONFIG.segment_bytes:
            size, base = 0, batch.base_offset
            bases.append(base)
        size += len(batch.built)
    assert [base for base, _ in segments(path)] == bases
    assert len(bases) > 2


def expected_indexes(content, batches_):
    """Kafka's rule, one append at a time: an entry when more than the interval lies behind the last one."""
    offsets, times, since, newest = [], [], 0, (-1, -1)
    base = batches_[0].base_offset
    for (position, data), batch in zip(split(content), batches_, strict=True):
        if max(batch.timestamps) > newest[0]:
            newest = (max(batch.timestamps), batch.last_offset - base)
        if since > CONFIG.index_interval_bytes:
            offsets.append((batch.last_offset - base, position))
            if not times or newest[0] > times[-1][0]:
                times.append(newest)
            since = 0
        since += len(data)
    if not times or newest[0] > times[-1][0]:
        times.append(newest)
    return offsets, times


def test_every_entry_of_every_index(written):
    path, batches_ = written
    left = list(batches_)
    for base, content in segments(path):
        count = sum(1 for _ in split(content))
        offsets, times = expected_indexes(content, left[:count])
        del left[:count]
        name = path / str(TP) / f"{base:020d}"
        assert list(struct.iter_unpack(">ii", name.with_suffix(".index").read_bytes())) == offsets
        assert list(struct.iter_unpack(">qi", name.with_suffix(".timeindex").read_bytes())) == times
        assert len(offsets) > 1 or base == segments(path)[-1][0]


def test_every_row_of_every_snapshot(written):
    path, batches_ = written
    bases = [base for base, _ in segments(path)]
    end = batches_[-1].last_offset + 1
    files = sorted((path / str(TP)).glob("*.snapshot"))
    assert [int(file.stem) for file in files] == [*bases[1:], end]
    for file in files:
        data = file.read_bytes()
        version, crc, count = struct.unpack_from(">hIi", data)
        assert (version, crc) == (1, crc32c(data[6:]))
        rows = list(struct.iter_unpack(">qhiqiqiq", data[10:]))
        assert len(rows) == count
        # Kafka has the last row of a producer win: its newest batch below the snapshot's offset.
        newest = {row[0]: row for row in rows}
        assert newest == {
            batch.producer[0]: (
                *batch.producer[:2],
                batch.producer[2] + len(RECORDS) - 1,
                batch.last_offset,
                len(RECORDS) - 1,
                max(batch.timestamps),
                -1,
                -1,
            )
            for batch in batches_
            if batch.producer[0] >= 0 and batch.base_offset < int(file.stem)
        }


def test_every_line_of_every_checkpoint(written):
    path, batches_ = written
    end = batches_[-1].last_offset + 1
    name = f"{TP.topic} {TP.partition}"
    texts = {
        "meta.properties": "#\nversion=0\nbroker.id=7\ncluster.id=b4rnab4sb4rnab4sb4rnab\n",
        "recovery-point-offset-checkpoint": f"0\n1\n{name} {end}\n",
        "replication-offset-checkpoint": f"0\n1\n{name} 90\n",
        "log-start-offset-checkpoint": f"0\n1\n{name} 5\n",
        f"{TP}/leader-epoch-checkpoint": "0\n3\n0 5\n1 40\n2 80\n",
        ".kafka_cleanshutdown": "",
        ".lock": "",
    }
    assert {file: (path / file).read_text() for file in texts} == texts
    partition = {f"{TP}/{file.name}" for file in (path / str(TP)).iterdir()}
    left = {file.name for file in path.iterdir()} | partition
    suffixes = (".log", ".index", ".timeindex", ".snapshot")
    assert {file for file in left if not file.endswith(suffixes)} == {*texts, str(TP)}
