import pytest

from barnabas.chaos.nemeses.segments import (
    base_of,
    batches,
    differences,
    faults_in,
    partitions_in,
    replica,
    segments_of,
)
from barnabas.cluster.model.ids import TopicPartition

TP = TopicPartition("t", 0)


def found(*data):
    return [*batches(b"".join(data))]


def test_batches_are_read_with_their_offsets(batch):
    assert [(b.base, b.end, b.epoch, b.is_sound) for b in found(batch(3, 2, 7), batch(5))] == [
        (3, 5, 7, True),
        (5, 6, 0, True),
    ]


def test_a_flipped_bit_is_seen(batch):
    ill = bytearray(batch(0))
    ill[70] ^= 1
    (seen,) = batches(bytes(ill))
    assert not seen.is_sound


@pytest.mark.parametrize(("size", "content"), [(0, False), (100, False), (-1, True), (50, True)])
def test_reading_ends_where_no_batch_is(batch, size, content):
    tail = batch(1)[:size] if content else bytes(size)
    assert [b.base for b in found(batch(0), tail)] == [0]


def test_what_is_whole_has_every_offset_once(batch):
    whole = found(batch(0, 3), batch(3), batch(4, 2))
    assert faults_in(whole, 0, 6) == ""
    assert faults_in(whole, 3, 5) == ""
    assert faults_in(whole, 0, 8) == "offsets 6 to 7 are missing"
    assert faults_in(whole[1:], 0, 6) == "offsets 0 to 2 are missing"
    assert faults_in([whole[0], whole[2]], 0, 6) == "offset 3 is followed by 4"
    assert faults_in([whole[0], *whole], 0, 6) == "offset 3 is followed by 0"
    assert faults_in([], 0, 0) == ""
    ill = [whole[0], whole[1]._replace(is_sound=False), whole[2]]
    assert faults_in(ill, 0, 6) == "the batch at offset 3 does not match its checksum"
    assert faults_in(ill, 4, 6) == ""


def test_replicas_differ_where_one_is_not_whole_or_has_other_records(batch):
    one, other = found(batch(0), batch(1)), found(batch(0), batch(1, value=b"other"))
    assert differences({1: one, 2: one, 3: one}, 0, 2) == []
    (line,) = differences({1: one, 2: other, 3: other}, 0, 2)
    assert line.startswith("broker 1 has offsets 1 to 1 of epoch 0 with checksum")
    assert "broker 2 has offsets 1 to 1" in line
    assert differences({1: one, 2: other}, 0, 1) == []
    assert differences({1: one, 2: one[:1]}, 0, 2) == ["on broker 2 offsets 1 to 1 are missing"]


def test_a_record_of_another_epoch_is_another(batch):
    assert differences({1: found(batch(0, epoch=1)), 2: found(batch(0, epoch=2))}, 0, 1)


def test_a_replica_is_its_segments_in_any_log_directory(batch, tmp_path):
    log = tmp_path / "b" / "t-0"
    log.mkdir(parents=True)
    (tmp_path / "a").mkdir()
    for name in ("t-0.8f-delete", "t-0-stray", "lost+found", "u_1.x-12"):
        (tmp_path / "b" / name).mkdir()
    (log / f"{10:020}.log").write_bytes(batch(10))
    (log / f"{0:020}.log").write_bytes(batch(0, 10))
    (log / f"{0:020}.index").write_bytes(b"")
    directories = [tmp_path / "a", tmp_path / "b"]
    assert [base_of(segment) for segment in segments_of(directories, TP)] == [0, 10]
    assert [b.base for b in replica(directories, TP)] == [0, 10]
    assert replica(directories, TopicPartition("u", 0)) == []
    assert partitions_in(directories) == [TP, TopicPartition("u_1.x", 12)]
