"""The replicas put together: what begins, what is shown, what is left behind."""

from __future__ import annotations

import asyncio

from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.replicas.interface import FetchPartition
from barnabas.broker.replicas.replica_fetchers import ReplicaFetchers
from barnabas.broker.replicas.service import ReplicaService
from barnabas.broker.replicas.settings import ReplicaSettings
from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.model.requests import LeaderAndIsrRequest, UpdateMetadataRequest
from barnabas.cluster.rpc import replication_pb2 as pb
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.supervisor import Supervisor
from tests.unit.broker.replicas.conftest import fetching

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
        "ReplicaAlterLogDirsThread-0",
        "high-watermark-checkpoint",
        "isr-announcements",
        "isr-check",
        "log-retention",
        "log-scrub",
    ]
    await service.control_requests.leader_and_isr(LeaderAndIsrRequest(9, 1, 1, (room.order(1, 0, (1,)),)))
    appended = await service.appends.append({TP: room.batch(b"a")}, acks=-1, timeout_ms=1000)
    assert appended[TP].base_offset == 0
    await room.until(lambda: {TP: Offset(1)} in written)
    shown = {sample.name: sample.value for family in metrics.registry.collect() for sample in family.samples}
    assert shown["kafka_server_ReplicaManager_LeaderCount"] == 1
    assert shown["kafka_server_ReplicaManager_PartitionCount"] == 1
    assert shown["kafka_server_ReplicaManager_UnderReplicatedPartitions"] == 1
    assert shown["kafka_log_Log_LogEndOffset"] == shown["kafka_log_Log_NumLogSegments"] == 1
    assert shown["kafka_log_Log_Size"] == len(room.batch(b"a"))
    await fetching(service.reads, {TP: FetchPartition(1, 100)}, max_wait_ms=1, min_bytes=1, max_bytes=100)
    expired = metrics.fetch_expirations.labels(fetcherType="consumer")._value
    await room.until(lambda: expired.get() == 1)
    written.clear()
    await supervisor.close(5)
    await service.close()
    assert written == [{TP: Offset(1)}]


def waiting(metrics):
    """Of each purgatory the watched keys, and how many operations wait."""
    found = {}
    for family in metrics.registry.collect():
        for sample in family.samples:
            if sample.name.startswith("kafka_server_DelayedOperationPurgatory_"):
                found.setdefault(sample.labels["delayedOperation"], []).append(sample.value)
    return found


async def requests_of(follower):
    """A follower that has two records asks once, and waits for a millisecond."""
    asked = pb.FetchPartition(topic="t", fetch_offset=2, last_fetched_epoch=-1, max_bytes=100)
    yield pb.FetchRequest(
        replica_id=follower, broker_epoch=10, max_wait_ms=1, min_bytes=1, max_bytes=100, partitions=[asked]
    )
    await asyncio.Event().wait()


async def test_what_waits_and_what_runs_out_of_time_is_counted(room):
    metrics = Metrics()
    service = ReplicaService(
        1,
        room.logs,
        ReplicaSettings(),
        store=lambda: None,
        supervisor=Supervisor(lambda *_: None),
        metrics=metrics,
        write=lambda _line: None,
        on_metadata=lambda _: None,
    )
    live = tuple(Broker(each, 10, (Endpoint("GRPC", "127.0.0.1", 9),)) for each in (1, 2))
    await service.control_requests.leader_and_isr(LeaderAndIsrRequest(9, 1, 1, (room.order(1, 0, (1, 2)),)))
    service.metadata.apply(UpdateMetadataRequest(9, 1, 1, (), live))
    assert waiting(metrics) == {"Produce": [0, 0], "DeleteRecords": [0, 0], "Fetch": [0, 0]}
    waiters = [
        service.appends.append({TP: room.batch(b"a")}, acks=-1, timeout_ms=60_000),
        service.deletes.delete({TP: Offset(0)}, 60_000),
        fetching(service.reads, {TP: FetchPartition(0, 100)}, max_wait_ms=60_000, min_bytes=1, max_bytes=100),
    ]
    assert waiting(metrics) == {"Produce": [1, 1], "DeleteRecords": [1, 1], "Fetch": [1, 1]}

    late = await service.appends.append({TP: room.batch(b"b")}, acks=-1, timeout_ms=1)
    assert late[TP].error is ErrorCode.REQUEST_TIMED_OUT
    assert metrics.produce_expirations.labels("t", 0)._value.get() == 1
    assert not any(waiter.done() for waiter in waiters)
    service.hosted.get(TP).replica.sent(2, Offset(2))
    answers = service.sessions.serve(requests_of(2))
    await anext(answers)
    expired = metrics.fetch_expirations.labels(fetcherType="follower")._value
    await room.until(lambda: expired.get() == 1)
    await answers.aclose()
    await asyncio.gather(*waiters)
    assert metrics.fetch_expirations.labels(fetcherType="consumer")._value.get() == 0


async def test_a_failed_directory_is_reported_and_nothing_is_fetched_for_it(room, tmp_path, monkeypatch):
    stopped, notified = [], []
    monkeypatch.setattr(ReplicaFetchers, "stop", lambda _self, gone: stopped.append(tuple(gone)))
    service = ReplicaService(
        1,
        room.logs,
        ReplicaSettings(),
        store=lambda: None,
        supervisor=Supervisor(lambda *_: None),
        metrics=Metrics(),
        write=lambda _line: None,
        on_metadata=lambda _: None,
        on_directory_failed=lambda: notified.append(True),
    )
    service.hosted.host(TP)
    service.hosted.disk_failed(KafkaStorageError(tmp_path, "test"))
    assert (stopped, notified) == ([(TP,)], [True])
