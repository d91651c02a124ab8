from __future__ import annotations

import socket
import threading

from barnabas.bench.clients import abusers
from barnabas.broker.core.records.batch_validation import AppendOrigin, check_leader_append
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.record_batch import RecordBatch
from barnabas.broker.wire.frames import decode
from barnabas.cluster.model.principal import ANONYMOUS

NOW_MS = 2_000_000_000_000


def decoded(frame):
    assert int.from_bytes(frame[:4]) == len(frame) - 4
    return decode(memoryview(frame)[4:], "L", "127.0.0.1", ANONYMOUS).body


def test_the_frames_are_requests():
    assert decoded(abusers.produce("t", abusers.batch(), 3)).topic_data[0].partition_data[0].index == 3
    assert decoded(abusers.init_producer_id()).transactional_id is None
    (topic,) = decoded(abusers.parked_fetch("t", 4)).topics
    assert [each.partition for each in topic.partitions] == [0, 1, 2, 3]


def test_the_batches_of_each_producer_are_valid_and_in_sequence():
    found = []
    for frame in abusers.produced_by(range(7, 9), "t", 2):
        records = decoded(frame).topic_data[0].partition_data[0].records
        checked = check_leader_append(records, LogConfig(), NOW_MS, AppendOrigin.CLIENT)
        assert isinstance(checked, RecordBatch)
        found.append((checked.header.producer_id, checked.header.base_sequence))
    assert found == [(7, 0), (8, 0), (7, 1), (8, 1)]


def test_a_flood_sends_everything_and_takes_every_answer(monkeypatch):
    monkeypatch.setattr(abusers, "WINDOW", 3)
    server, received = socket.create_server(("127.0.0.1", 0)), []

    def answer(connection):
        while frame := connection.recv(4, socket.MSG_WAITALL):
            received.append(connection.recv(int.from_bytes(frame), socket.MSG_WAITALL))
            connection.sendall(b"\0\0\0\1x")

    def accept():
        for _ in range(2):
            threading.Thread(target=answer, args=server.accept()[:1], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    requests = [b"\0\0\0\1" + bytes([number]) for number in range(20)]
    assert abusers.flood(f"127.0.0.1:{server.getsockname()[1]}", requests, 2) == 20
    assert sorted(received) == [bytes([number]) for number in range(20)]
    server.close()
