"""The targets of faults."""

from barnabas.chaos.targets.disk import SmallDisk
from barnabas.chaos.targets.local import keep_disks
from barnabas.chaos.targets.targets import Targets, node_of
from barnabas.local.cluster import LocalCluster
from barnabas.local.ensemble import local_ensemble


def test_its_nodes_are_the_zookeepers_and_the_brokers(tmp_path):
    targets = Targets(LocalCluster(tmp_path, zookeeper="nowhere:1"), local_ensemble(tmp_path), links=None)
    assert targets.zookeepers == ["zookeeper-1", "zookeeper-2", "zookeeper-3"]
    assert targets.others(2) == ["broker-1", "broker-3"]
    assert node_of(2) == "broker-2"
    targets.gather(tmp_path)
    assert list(tmp_path.iterdir()) == []


class Brokers:
    def __init__(self, directory):
        self.brokers = {1: self}
        self.directory = directory


def test_disks_are_copied_without_what_was_never_written(tmp_path):
    small, large = (SmallDisk(tmp_path / "disks" / name, 1) for name in ("data-small", "data"))
    for disk in (small, large):
        (disk.directory / "t-0").mkdir(parents=True)
        with (disk.directory / "t-0" / "0.index").open("wb") as index:
            index.write(b"entries")
            index.truncate(10 << 20)
    keep_disks(Targets(Brokers(tmp_path), None, None, {1: small}))
    assert not (tmp_path / "data-kept").exists()
    kept = tmp_path / "data-small-kept" / "t-0" / "0.index"
    assert kept.stat().st_size == 10 << 20
    assert kept.stat().st_blocks * 512 < 1 << 20
    keep_disks(Targets(Brokers(tmp_path), None, None, {1: small}, power={1: (large, small)}))
    assert (tmp_path / "data-kept" / "t-0" / "0.index").exists()


def test_files_that_vanish_meanwhile_are_missing_in_the_copy(tmp_path):
    keep_disks(Targets(Brokers(tmp_path), None, None, {1: SmallDisk(tmp_path / "gone", 1)}))
    assert not (tmp_path / "gone-kept").exists()
