from __future__ import annotations

import pytest
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from barnabas.broker.disk.directory.old_formats import refuse_old_formats
from barnabas.broker.disk.errors import InconsistentDirectoryError
from barnabas.cluster.model.ids import TopicPartition


def messages(magic, codec=0):
    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=codec, batch_size=1 << 20)
    for offset in range(3):
        builder.append(offset, timestamp=5, key=None, value=b"value")
    return bytes(builder.build())


def segment(directory, content, base_offset=0):
    (directory / f"{base_offset:020d}.log").write_bytes(content)


@pytest.mark.parametrize("codec", [0, 1])
@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages_are_named(tmp_path, batch, magic, codec):
    segment(tmp_path, batch(2))
    segment(tmp_path, messages(magic, codec) + batch(2), 2)
    with pytest.raises(
        InconsistentDirectoryError, match=rf"0*2\.log begins with a message of format {magic}"
    ):
        refuse_old_formats(tmp_path)


@pytest.mark.parametrize("base", [b"", bytes(10), bytes(4096), b"\xff" * 300])
def test_what_is_no_message_is_left_to_recovery(tmp_path, base):
    segment(tmp_path, base)
    refuse_old_formats(tmp_path)


def test_a_message_that_is_cut_or_damaged_is_left_to_recovery(tmp_path):
    content = messages(1)
    for damaged in (content[:30], content[:20] + b"?" + content[21:], content[:8] + b"\x00\x00\x00\x0d"):
        segment(tmp_path, damaged)
        refuse_old_formats(tmp_path)


def test_batches_of_this_format_are_served(tmp_path, batch):
    for codec in range(5):
        segment(tmp_path, batch(3, codec=codec), codec)
    refuse_old_formats(tmp_path)


def test_a_broker_does_not_start_on_them_and_leaves_them_alone(open_dirs, tmp_path):
    directory = tmp_path / "a-0"
    directory.mkdir()
    segment(directory, messages(1))
    with pytest.raises(InconsistentDirectoryError, match="format 1, expected 2"):
        open_dirs(tmp_path)
    assert (directory / f"{0:020d}.log").read_bytes() == messages(1)
    (directory / f"{0:020d}.log").unlink()
    assert open_dirs(tmp_path).get(TopicPartition("a", 0)).log_end_offset == 0
