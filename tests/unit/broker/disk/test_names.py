from __future__ import annotations

import pytest

from barnabas.broker.disk.names import (
    deleted_directory,
    files_with,
    is_deleted_directory,
    offset_of,
    parse_partition_directory,
    partition_directory,
    segment_file,
    stray_directory,
    stray_topic,
)
from barnabas.cluster.model.ids import TopicPartition


def test_segment_files_are_padded_to_twenty_digits(tmp_path):
    path = segment_file(tmp_path, 4711, ".timeindex")
    assert path.name == "00000000000000004711.timeindex"
    assert offset_of(path) == 4711
    path.touch()
    segment_file(tmp_path, 12, ".timeindex").touch()
    (tmp_path / "other.timeindex").touch()
    assert [offset_of(p) for p in files_with(tmp_path, ".timeindex")] == [12, 4711]


@pytest.mark.parametrize(
    "tp", [TopicPartition("a", 0), TopicPartition("with-dash-7", 12), TopicPartition("a.b_c", 3)]
)
def test_a_partition_is_what_follows_the_last_dash(tp):
    assert parse_partition_directory(partition_directory(tp)) == tp


@pytest.mark.parametrize(
    "name", ["5.log", "\u00b2.log", "\u0663" * 20 + ".log", f"{2**63}.log".zfill(24), "junk.log", "-1.log"]
)
def test_files_under_names_that_kafka_does_not_give_are_none_of_ours(tmp_path, name):
    segment_file(tmp_path, 5, ".log").touch()
    segment_file(tmp_path, 2**63 - 1, ".log").touch()
    (tmp_path / name).touch()
    assert [offset_of(path) for path in files_with(tmp_path, ".log")] == [5, 2**63 - 1]


@pytest.mark.parametrize(
    "name", ["lost+found", "a", "a-", "-", "a-b", "a b-1", "a-00", "a-01", f"a-{2**31}", f"a-{'9' * 5000}"]
)
def test_other_directories_are_no_partitions(name):
    assert parse_partition_directory(name) is None


@pytest.mark.parametrize("topic", ["t" * 249, "ü" * 249, "x" + "ü" * 248])
def test_deleted_directories_fit_into_a_name(topic):
    """A file system counts bytes, and a character is never cut in two."""
    name = deleted_directory(TopicPartition(topic, 123456))
    assert 254 <= len(name.encode()) <= 255
    assert topic.startswith(name.split("-123456.")[0])
    assert is_deleted_directory(name)
    assert parse_partition_directory(name) is None
    assert not is_deleted_directory("t-0")


@pytest.mark.parametrize("tp", [TopicPartition("a-7", 0), TopicPartition("x" * 249, 2**31 - 1)])
def test_a_stray_is_no_partition_and_not_deleted(tp):
    name = stray_directory(tp)
    assert len(name) <= 255
    assert name.endswith("-stray")
    assert tp.topic.startswith(stray_topic(name))
    assert (parse_partition_directory(name), is_deleted_directory(name)) == (None, False)
    assert stray_directory(tp) != name


@pytest.mark.parametrize("name", ["a-0", "a-0.0123-stray", "a-stray", f"a-0.{'0' * 32}-delete"])
def test_what_is_no_stray(name):
    assert stray_topic(name) is None
