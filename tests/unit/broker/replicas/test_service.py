"""The replicas put together: what begins, what is shown, what is left behind."""

from __future__ import annotations

from broker.disk.errors import KafkaStorageError
from broker.replicas.fetchers import Fetchers
from broker.replicas.interface import FetchPartition
from broker.replicas.service import ReplicaService
from broker.replicas.settings import ReplicaSettings
from cluster.model.ids import Offset, TopicPartition
from cluster.model.requests import LeaderAndIsrRequest
from cluster.runtime.metrics import Metrics
from cluster.runtime.supervisor import Supervisor

TP = TopicPartition("t", 0)


async def test_from_start_to_close(room):
    written = []
    room.logs.checkpoint_high_watermarks = written.append
    metrics, supervisor = Metrics(), Supervisor(lambda *_: None)
    service = ReplicaService(
        1,
        room.logs,
        ReplicaSettings(high_watermark_checkpoint_interval_ms=1),
        store=lambda: None,
        supervisor=supervisor,
        metrics=metrics,
        write=lambda _line: None,
        on_metadata=lambda _: None,
    )
    service.start()
    assert supervisor.names == [
        "high-watermark-checkpoint",
        "isr-announcements",
        "isr-check",
        "log-retention",
    ]
    await service.leadership.leader_and_isr(LeaderAndIsrRequest(9, 1, 1, (room.order(1, 0, (1,)),)))
    appended = await service.appends.append({TP: room.batch(b"a")}, acks=-1, timeout_ms=1000)
    assert appended[TP].base_offset == 0
    await room.until(lambda: {TP: Offset(1)} in written)
    shown = {sample.name: sample.value for family in metrics.registry.collect() for sample in family.samples}
    assert shown["kafka_server_ReplicaManager_LeaderCount"] == 1
    assert shown["kafka_server_ReplicaManager_PartitionCount"] == 1
    assert shown["kafka_server_ReplicaManager_UnderReplicatedPartitions"] == 1
    assert shown["kafka_log_Log_LogEndOffset"] == shown["kafka_log_Log_NumLogSegments"] == 1
    assert shown["kafka_log_Log_Size"] == len(room.batch(b"a"))
    await service.reads.fetch({TP: FetchPartition(1, 100)}, max_wait_ms=1, min_bytes=1, max_bytes=100)
    expired = metrics.fetch_expirations.labels(fetcherType="consumer")._value
    await room.until(lambda: expired.get() == 1)
    written.clear()
    await supervisor.close(5)
    await service.close()
    assert written == [{TP: Offset(1)}]


async def test_a_failed_directory_is_told_of_and_nothing_is_fetched_for_it(room, tmp_path, monkeypatch):
    stopped, told = [], []
    monkeypatch.setattr(Fetchers, "stop", lambda _self, gone: stopped.append(tuple(gone)))
    service = ReplicaService(
        1,
        room.logs,
        ReplicaSettings(),
        store=lambda: None,
        supervisor=Supervisor(lambda *_: None),
        metrics=Metrics(),
        write=lambda _line: None,
        on_metadata=lambda _: None,
        on_directory_failed=lambda: told.append(True),
    )
    service.hosted.host(TP)
    service.hosted.disk_failed(KafkaStorageError(tmp_path, "test"))
    assert (stopped, told) == ([(TP,)], [True])
