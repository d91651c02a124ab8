from __future__ import annotations

from pathlib import Path

from structlog.testing import capture_logs

from barnabas.broker.disk.names import MAX_NAME_LENGTH, future_directory
from barnabas.broker.replicas.log_dir_admin import LogDirectories
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition

OTHER = TopicPartition("u", 0)


async def test_logs_are_described_with_their_lag(room, tmp_path):
    partition = room.lead()
    room.write(partition, b"x")
    partition.replica.high_watermark = 4
    room.logs.get_or_create(OTHER)
    (described,) = LogDirectories(room.hosted, room.logs, lambda: None).describe()
    assert (described.path, described.error) == (str(tmp_path), ErrorCode.NONE)
    notified = [(each.topic_partition, each.size, each.offset_lag) for each in described.logs]
    assert notified == [(partition.topic_partition, partition.log.size, 3), (OTHER, 0, -1)]
    partition.replica.high_watermark = 0
    assert LogDirectories(room.hosted, room.logs, lambda: None).describe()[0].logs[0].offset_lag == 0


async def test_a_directory_that_is_offline_says_so(room, tmp_path):
    room.logs.fail(Path(tmp_path), "gone")
    (described,) = LogDirectories(room.hosted, room.logs, lambda: None).describe()
    assert (described.error, described.logs) == (ErrorCode.KAFKA_STORAGE_ERROR, ())


def test_a_name_may_be_so_long_that_its_future_log_still_has_one(room, tmp_path):
    admin = LogDirectories(room.hosted, room.logs, lambda: None)
    longest = MAX_NAME_LENGTH - len(future_directory(TopicPartition("", 0)))
    for length, error in (
        (longest, ErrorCode.REPLICA_NOT_AVAILABLE),
        (longest + 1, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ):
        assert admin.alter(TopicPartition("a" * length, 0), str(tmp_path)) is error


async def test_many_refused_moves_are_not_all_logged(room):
    """100,000 of them wrote as many lines, of names that clients choose, and took 5.7 s."""
    admin = LogDirectories(room.hosted, room.logs, lambda: None)
    with capture_logs() as lines:
        for number in range(100):
            error = admin.alter(TopicPartition("a\nb" + "c" * 1_000, number), "/no\nwhere" + "d" * 1_000)
            assert error is not ErrorCode.NONE
    assert 0 < len(lines) < 20
    for each in lines:
        assert len(each["event"]) < 400
        assert len(each["directory"]) < 400
        assert (each["event"] + each["directory"]).isprintable()
