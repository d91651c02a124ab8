import pytest

from barnabas.chaos.nemeses.damage import Harm, damage, ruin
from barnabas.chaos.targets.disk import DiskError
from barnabas.cluster.model.ids import TopicPartition

TP = TopicPartition("t", 0)


@pytest.fixture
def log_dirs(tmp_path, batch):
    """Three brokers with two replicas of three segments each, and one of a topic that has not rolled yet."""
    for broker in (1, 2, 3):
        for name in ("t-0", "__consumer_offsets-0"):
            log = tmp_path / str(broker) / name
            log.mkdir(parents=True)
            for base in (0, 50, 100):
                content = b"".join(batch(base + n) for n in range(50))
                (log / f"{base:020}.log").write_bytes(content)
        fresh = tmp_path / str(broker) / "fresh-0"
        fresh.mkdir()
        (fresh / f"{0:020}.log").write_bytes(batch(0))
    return {broker: (tmp_path / str(broker),) for broker in (1, 2, 3)}


@pytest.mark.parametrize("harm", Harm)
def test_a_sealed_segment_of_one_broker_is_damaged_and_seen_to_be(log_dirs, harm):
    sound = {
        path: path.read_bytes() for (directory,) in log_dirs.values() for path in directory.rglob("*.log")
    }
    done = damage(log_dirs, 2, harm)
    assert done.ranges == {TP: (50, 100)}
    (changed,) = [path for path, content in sound.items() if path.read_bytes() != content]
    assert changed == log_dirs[2][0] / "t-0" / f"{50:020}.log"
    assert changed.stat().st_size == len(sound[changed])
    assert done.lacking(log_dirs).startswith("t-0: on broker 2 ")
    changed.write_bytes(sound[changed])
    assert done.lacking(log_dirs) == ""
    assert str(done) == f"{harm} in sealed segments of broker 2: t-0 from offset 50"


def test_a_replica_that_lost_the_range_is_not_whole(log_dirs):
    done = damage(log_dirs, 2, Harm.FLIP)
    (log_dirs[2][0] / "t-0" / f"{50:020}.log").unlink()
    assert done.lacking(log_dirs) == "t-0: on broker 2 offsets 50 to 99 are missing"


def test_without_a_sealed_segment_nothing_is_damaged(log_dirs):
    for segment in (0, 50):
        (log_dirs[1][0] / "t-0" / f"{segment:020}.log").unlink()
    with pytest.raises(DiskError, match="broker 1 has no sealed segment yet"):
        damage(log_dirs, 1, Harm.ZEROS)


def test_a_flip_is_one_bit_and_zeros_stay_within_the_file(tmp_path):
    segment = tmp_path / "s"
    segment.write_bytes(b"\xff" * 100)
    ruin(segment, Harm.FLIP)
    assert segment.read_bytes() == b"\xff" * 50 + b"\xef" + b"\xff" * 49
    ruin(segment, Harm.ZEROS)
    assert segment.read_bytes() == b"\xff" * 50 + bytes(50)
