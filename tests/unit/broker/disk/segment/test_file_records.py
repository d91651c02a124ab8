from __future__ import annotations

import os
import socket
from unittest.mock import Mock

import pytest

from barnabas.broker.disk.files import CLOSED
from barnabas.broker.disk.segment import file_records
from barnabas.broker.disk.segment.file_records import FileRecords

CONTENT = bytes(range(200))


@pytest.fixture
def fd(tmp_path):
    (tmp_path / "segment").write_bytes(CONTENT)
    opened = os.open(tmp_path / "segment", os.O_RDONLY)
    yield opened
    os.close(opened)


@pytest.fixture
def sockets():
    ours, theirs = socket.socketpair()
    ours.settimeout(0)
    yield ours, theirs
    ours.close()
    theirs.close()


def test_a_part_is_read(fd):
    records = FileRecords(lambda: fd, 10, 50)
    assert len(records) == 50
    assert bytes(records) == CONTENT[10:60]
    assert records.read(5, 20) == CONTENT[15:35]


def test_a_part_is_sent(fd, sockets):
    ours, theirs = sockets
    assert FileRecords(lambda: fd, 10, 50).write_to(ours.fileno(), 5, 20) == 20
    assert theirs.recv(100) == CONTENT[15:35]


def test_a_socket_that_is_full_takes_nothing(fd, sockets):
    ours, _ = sockets
    records = FileRecords(lambda: fd, 0, 200)
    while records.write_to(ours.fileno(), 0, 200):
        pass
    assert records.write_to(ours.fileno(), 0, 200) == 0


def test_a_closed_socket_is_reported(fd, sockets):
    ours, theirs = sockets
    theirs.close()
    with pytest.raises(ConnectionError):
        FileRecords(lambda: fd, 0, 200).write_to(ours.fileno(), 0, 200)


def test_a_file_that_is_too_short_is_reported(fd):
    with pytest.raises(OSError, match="20 bytes at position 180 of a file of records, expected 30"):
        FileRecords(lambda: fd, 150, 100).read(30, 30)


def test_a_closed_file_is_reported(sockets):
    records = FileRecords(lambda: CLOSED, 0, 200)
    assert records.write_to(sockets[0].fileno(), 0, 200) == 0
    with pytest.raises(OSError, match="Bad file descriptor"):
        records.read(0, 10)


def test_a_disk_failure_is_reported(fd, monkeypatch):
    monkeypatch.setattr(file_records, "read_exactly", Mock(side_effect=OSError(5, "Input/output error")))
    failures = []
    records = FileRecords(lambda: fd, 0, 200)
    records.on_failure = failures.append
    with pytest.raises(OSError, match="Input/output error"):
        records.read(0, 10)
    assert [error.errno for error in failures] == [5]
