from __future__ import annotations

from pathlib import Path

from broker.disk.errors import KafkaStorageError
from cluster.model.errors import ErrorCode


def test_a_storage_error_names_directory_deed_and_cause():
    error = KafkaStorageError(Path("logs"), "appending t-0", OSError(28, "No space left on device"))
    assert str(error) == "log directory logs: appending t-0: [Errno 28] No space left on device"
    assert (error.log_dir, error.error) == (Path("logs"), ErrorCode.KAFKA_STORAGE_ERROR)
    assert str(KafkaStorageError(Path("logs"), "t-0 is closed")) == "log directory logs: t-0 is closed"
