"""The memory of a connection whose client does nothing."""

from __future__ import annotations

import resource
import socket
import struct
import tempfile
import time
from pathlib import Path

from barnabas.bench.clients.connection import connect, receive
from barnabas.bench.harness.processes import resident_mb
from barnabas.bench.harness.registry import Bench, Run, at_most
from barnabas.local.cluster import LocalCluster

SETTLE_S = 3.0
SPARE_FILES = 500
PATIENCE_S = 60.0

_LENGTH = struct.Struct(">i")
_CLIENT = b"idle"
_API_VERSIONS = struct.pack(">hhih", 18, 0, 0, len(_CLIENT)) + _CLIENT
_REQUEST = _LENGTH.pack(len(_API_VERSIONS)) + _API_VERSIONS


def _open(address: str) -> socket.socket:
    """Open a connection, and ask for the API versions, as every client does."""
    connection = connect(address, PATIENCE_S)
    connection.sendall(_REQUEST)
    receive(connection)
    return connection


def measure(connections: int) -> Run:
    """Measure the resident memory of a broker before it gets idle connections, with them, and without."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(connections + SPARE_FILES, hard)), hard))
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-bench-") as directory,
        LocalCluster(Path(directory), brokers=1) as cluster,
    ):
        (broker,) = cluster.brokers.values()
        assert broker.pid is not None
        _open(broker.kafka).close()
        time.sleep(SETTLE_S)
        before_mb = resident_mb(broker.pid)
        opened = [_open(broker.kafka) for _ in range(connections)]
        time.sleep(SETTLE_S)
        after_mb = resident_mb(broker.pid)
        for each in opened:
            each.close()
        time.sleep(SETTLE_S)
        memory = {"MB before": before_mb, "MB": after_mb, "MB when closed": resident_mb(broker.pid)}
        return Run(1000 * (after_mb - before_mb) / connections, memory)


BENCHES = (
    Bench(
        name="idle-connections",
        question="How much memory of a broker does each of 5,000 idle connections take?",
        unit="KB",
        target=at_most(10.0),
        measure=measure,
        sizes={"connections": 5_000},
    ),
)
