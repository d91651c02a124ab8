from barnabas.chaos.targets.disk import SmallDisk
from barnabas.chaos.targets.local import keep_disks
from barnabas.chaos.targets.targets import Targets


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
