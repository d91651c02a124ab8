from __future__ import annotations

import pytest

from barnabas.broker.core.replication.leader_epochs import EpochEntry
from barnabas.broker.disk.checkpoints import (
    MetaProperties,
    read_epochs,
    read_meta_properties,
    read_offsets,
    write_epochs,
    write_meta_properties,
    write_offsets,
)
from barnabas.broker.disk.errors import CorruptCheckpointError
from barnabas.cluster.model.ids import TopicPartition


def test_offsets_are_kafkas_text(tmp_path):
    path = tmp_path / "recovery-point-offset-checkpoint"
    offsets = {TopicPartition("b", 1): 5, TopicPartition("a-b", 0): 0}
    write_offsets(path, offsets)
    assert path.read_text() == "0\n2\na-b 0 0\nb 1 5\n"
    assert read_offsets(path) == offsets


def test_epochs_are_kafkas_text(tmp_path):
    path = tmp_path / "leader-epoch-checkpoint"
    write_epochs(path, [EpochEntry(0, 0), EpochEntry(3, 17)], durable=True)
    assert path.read_text() == "0\n2\n0 0\n3 17\n"
    assert read_epochs(path) == [(0, 0), (3, 17)]


@pytest.mark.parametrize("content", [None, ""])
def test_missing_and_empty_files_say_nothing(tmp_path, content):
    path = tmp_path / "file"
    if content is not None:
        path.write_text(content)
    assert read_offsets(path) == {}
    assert read_epochs(path) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1\n0\n", "version '1' in line 1, expected 0"),
        (b"0\n", "line 2 says ''"),
        (b"0\n2\na 0 1\n", "line 2 says '2' rows, but 1 follow"),
        (b"0\n1\na 0\n", "line 3 is 'a 0', expected 'topic partition offset'"),
        (b"0\n1\na 0 x\n", "line 3 is 'a 0 x'"),
        (b"0\n1\na -1 5\n", "line 3 is 'a -1 5'"),
        ("0\n1\na 0 \u00b2\n".encode(), "line 3 is 'a 0 \u00b2'"),
        (b"0\n1\na 2147483648 5\n", "line 3 is 'a 2147483648 5'"),
        (b"0\n1\na 0 9223372036854775808\n", "line 3 is 'a 0 9223372036854775808'"),
        (b"0\n1\na 0 " + b"9" * 5000 + b"\n", "line 3 is 'a 0 9999"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_damage_is_named(tmp_path, content, message):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(CorruptCheckpointError, match=message):
        read_offsets(path)


@pytest.mark.parametrize("line", ["3", "2147483648 5", "3 9223372036854775808"])
def test_a_bad_epoch_line_is_named(tmp_path, line):
    path = tmp_path / "file"
    path.write_text(f"0\n1\n{line}\n")
    with pytest.raises(CorruptCheckpointError, match="expected 'epoch startOffset'"):
        read_epochs(path)


def test_meta_properties(tmp_path):
    path = tmp_path / "meta.properties"
    assert read_meta_properties(path) is None
    meta = MetaProperties(3, "b4rnab4sb4rnab4sb4rnab")
    write_meta_properties(path, meta)
    assert path.read_text() == "#\nversion=0\nbroker.id=3\ncluster.id=b4rnab4sb4rnab4sb4rnab\n"
    assert read_meta_properties(path) == meta
    path.write_text("#Sat Nov 21 10:00:00 UTC 2026\ncluster.id = x\n broker.id=12\nversion=0\n")
    assert read_meta_properties(path) == MetaProperties(12, "x")
    path.write_text("version=0\nbroker.id=12\n")
    assert read_meta_properties(path) == MetaProperties(12, None)
    path.write_bytes(b"version=0\nbroker.id=1\ncluster.id=\xff\n")
    with pytest.raises(CorruptCheckpointError, match="not UTF-8"):
        read_meta_properties(path)


@pytest.mark.parametrize(
    "text",
    [
        "version=1\nbroker.id=1\ncluster.id=x\n",
        "version=0\nbroker.id=-1\n",
        "version=0\nbroker.id=\u00b2\n",
        "version=0\nbroker.id=2147483648\n",
        "version=0\n",
    ],
)
def test_bad_meta_properties_are_named(tmp_path, text):
    path = tmp_path / "meta.properties"
    path.write_text(text)
    with pytest.raises(CorruptCheckpointError, match=r"meta\.properties"):
        read_meta_properties(path)
