"""Batches built by encoders that are not ours, and logs in a directory of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from crc32c import crc32c
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.directory.log_dirs import LogDirs, LogDirsOptions
from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.disk.log.log import Log
from barnabas.broker.disk.log.log_context import LogContext
from barnabas.broker.disk.log.recovery import LogState, load_log
from barnabas.broker.disk.segment.segment import LogSegment
from barnabas.cluster.model.ids import BrokerId, Offset, TopicPartition

BASE_TIME = 1_700_000_000_000
TP = TopicPartition("events", 0)

BuildBatch = Callable[..., bytes]


def build_batch(
    count: int = 2,
    *,
    value: bytes = b"value",
    timestamps: list[int] | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
    codec: int = 0,
    base_offset: int = 0,
    epoch: int = -1,
    encoder: type | None = None,
) -> bytes:
    """A batch as a client library builds it; base offset and leader epoch as a leader would stamp them."""
    producer_id, producer_epoch, sequence = producer
    if encoder is None:  # kafka-python compresses only with packages that are not installed here
        encoder = AiokafkaBuilder if codec else KafkaPythonBuilder
    builder = encoder(
        magic=2,
        compression_type=codec,
        is_transactional=False,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=sequence,
        batch_size=1 << 30,
    )
    for index in range(count):
        time = timestamps[index] if timestamps else BASE_TIME + index
        builder.append(index, timestamp=time, key=None, value=value, headers=[])
    built = bytes(builder.build())
    return Struct(">qii").pack(base_offset, len(built) - 12, epoch) + built[16:]


def patched(batch: bytes, at: int, new: bytes) -> bytes:
    """The batch with other bytes at that place and a checksum that is right again."""
    changed = batch[:at] + new + batch[at + len(new) :]
    return changed[:17] + Struct(">I").pack(crc32c(changed[21:])) + changed[21:]


def transactional(batch: bytes) -> bytes:
    """The batch as one of a transaction."""
    return patched(batch, 21, b"\0\x10")


def marker(kind: int, producer: tuple[int, int], base_offset: int, epoch: int = 0) -> bytes:
    """The control batch that ends a transaction: 0 aborts it, 1 commits it."""
    builder = AiokafkaBuilder(
        magic=2,
        compression_type=0,
        is_transactional=True,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=-1,
        batch_size=1 << 20,
    )
    key, value = Struct(">hh").pack(0, kind), Struct(">hi").pack(0, 3)
    builder.append(0, timestamp=BASE_TIME, key=key, value=value, headers=[])
    built = patched(bytes(builder.build()), 21, b"\0\x30")
    return Struct(">qii").pack(base_offset, len(built) - 12, epoch) + built[16:]


class ImmediateExecutor(Executor):
    """Runs what it is given at once, on the caller's thread."""

    def submit(self, fn, /, *args, **kwargs):
        future: Future = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except OSError as error:
            future.set_exception(error)
        return future


@dataclass
class Logs:
    """Opens one log in ``directory``, again and again."""

    directory: Path
    now_ms: int = BASE_TIME
    failures: list[KafkaStorageError] = field(default_factory=list)
    lowered: int = 0
    names_synced: int = 0
    removed: list[tuple[int, Sequence[LogSegment]]] = field(default_factory=list)
    truncated: list[tuple[TopicPartition, Offset]] = field(default_factory=list)
    with_gaps: list[TopicPartition] = field(default_factory=list)
    opened: list[Log] = field(default_factory=list)

    def open(self, config: LogConfig | None = None, **state) -> Log:
        config = config or LogConfig()
        directory = self.directory / str(TP)
        directory.mkdir(exist_ok=True)
        loaded = load_log(directory, config, LogState(**state), self.now_ms)
        context = LogContext(
            self.directory,
            ImmediateExecutor(),
            lambda: self.now_ms,
            self.failures.append,
            self._lowered,
            lambda segments, due_ms: self.removed.append((due_ms, segments)),
            lambda topic_partition, base_offset: self.truncated.append((topic_partition, base_offset)),
            self.with_gaps.append,
            self._names_synced,
        )
        log = Log(TP, directory, config, loaded, context)
        self.opened.append(log)
        return log

    def reopen_after_crash(self, config: LogConfig | None = None, recovery_point: int = 0) -> Log:
        self.opened[-1].abandon()
        return self.open(config, recovery_point=Offset(recovery_point))

    def close(self) -> None:
        for log in self.opened:
            log.abandon()
        for _, segments in self.removed:
            for segment in segments:
                segment.close()

    def path(self, suffix: str, base_offset: int = 0) -> Path:
        return self.directory / str(TP) / f"{base_offset:020d}{suffix}"

    def _names_synced(self) -> None:
        self.names_synced += 1

    def _lowered(self) -> None:
        self.lowered += 1


@pytest.fixture(scope="session")
def batch() -> BuildBatch:
    return build_batch


@pytest.fixture(
    scope="session", params=[KafkaPythonBuilder, AiokafkaBuilder], ids=["kafka-python", "aiokafka"]
)
def encoder(request: pytest.FixtureRequest) -> type:
    return request.param


@pytest.fixture(scope="session")
def patch_batch() -> Callable[[bytes, int, bytes], bytes]:
    return patched


@pytest.fixture(scope="session")
def logs_in() -> Callable[[Path], Logs]:
    """For tests that need a directory for each example."""
    return Logs


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[Logs]:
    opener = Logs(tmp_path)
    yield opener
    opener.close()


@pytest.fixture
def open_dirs() -> Iterator[Callable[..., LogDirs]]:
    """Opens log directories; what a test leaves open is left as a crash would."""
    executor = ThreadPoolExecutor(max_workers=1)
    opened: list[LogDirs] = []

    def open_(
        *paths: Path,
        config: LogConfig | None = None,
        broker: int = 1,
        clock=lambda: BASE_TIME,
        at_once: bool = False,
        config_for: Callable[[str], LogConfig] | None = None,
        recovery_threads: int = 1,
    ) -> LogDirs:
        options = LogDirsOptions(
            broker_id=BrokerId(broker),
            cluster_id="b4rnab4sb4rnab4sb4rnab",
            config_for=config_for or (lambda _: config or LogConfig()),
            executor_for=lambda _: ImmediateExecutor() if at_once else executor,
            clock=clock,
            recovery_threads=recovery_threads,
        )
        opened.append(LogDirs.open(paths, options))
        return opened[-1]

    yield open_
    for dirs in opened:
        for path in dirs.live:
            dirs.fail(path, "the test is over")
    executor.shutdown()
