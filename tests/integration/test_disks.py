"""Disks that are full or turn read-only, as the kernel has it: real file systems under real brokers.

The seam to the system is tested call by call in ``tests/unit/broker/disk``; here is one broker with a log
directory on a small tmpfs, one with a log directory on an ext4 that gives up as it does after an I/O error.
The former writes its server.log and state-change.log there, too, as it does where a machine has one disk.
"""

from __future__ import annotations

import errno
import os
import subprocess

import confluent_kafka
import confluent_kafka.admin
import psutil
import pytest

from barnabas.local.cluster import LocalCluster
from barnabas.local.waiting import wait_until
from tests.integration.reading import read_partition
from tests.logged import logged
from tests.metadata import isrs_of, metadata_of, partitions_of

FULL, READ_ONLY = 1, 2
"""The brokers whose first log directory is a disk of its own."""

ROOM = 24 << 20
"""Bytes of the disk that gets full."""

VALUE = bytes(500_000)

AN_HOUR_MS = str(3_600_000)

OVERRIDES = {
    "log.dirs": "data/one,data/two",
    # Nothing but the records is written meanwhile: it is the append that meets the failure.
    "replica.high.watermark.checkpoint.interval.ms": AN_HOUR_MS,
    "log.flush.offset.checkpoint.interval.ms": AN_HOUR_MS,
    "log.flush.start.offset.checkpoint.interval.ms": AN_HOUR_MS,
}


def command(*words):
    """Run a command of the system; what it says is in the error where it fails."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(done.returncode, f"{' '.join(map(str, words))}: {done.stderr.strip()}")


def mount_tmpfs(place):
    command("mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", place)


def make_ext4(path):
    with path.open("wb") as file:
        file.truncate(64 << 20)
    command("mkfs.ext4", "-q", "-F", path)


def mount_image(image, place):
    command("mount", "-o", "loop", image, place)


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """A file for an ext4 of its own."""
    return tmp_path_factory.mktemp("image") / "ext4"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, image, new_chroot):
    directory = tmp_path_factory.mktemp("disks") / "cluster"
    running = LocalCluster(directory, overrides=OVERRIDES, zookeeper=new_chroot())
    places = {number: running.brokers[number].dir / "data" / "one" for number in (FULL, READ_ONLY)}
    for place in places.values():
        place.mkdir(parents=True)
    running.brokers[FULL].own_settings["kafka.logs.dir"] = str(places[FULL] / "logs")
    try:
        try:
            make_ext4(image)
            mount_tmpfs(places[FULL])
            mount_image(image, places[READ_ONLY])
        except OSError as error:
            pytest.skip(f"file systems cannot be made and mounted here, as root can: {error}")
        with running:
            yield running
    finally:
        for place in places.values():
            if place.is_mount():
                command("umount", "--lazy", place)


@pytest.fixture(scope="module")
def admin(cluster):
    return confluent_kafka.admin.AdminClient({"bootstrap.servers": cluster.bootstrap})


def lying_in(broker, name, topic):
    """The partitions of the topic that lie in a log directory of the broker."""
    return [number for number in (0, 1) if (broker.dir / "data" / name / f"{topic}-{number}").is_dir()]


def create_led_by(admin, broker, topic):
    """A topic of two partitions, both led by the broker; returns the one on its disk and the other one."""
    others = [number for number in (1, 2, 3) if number != broker.id]
    assignment = [[int(broker.id), *others]] * 2
    new = confluent_kafka.admin.NewTopic(topic, num_partitions=2, replica_assignment=assignment)
    admin.create_topics([new])[topic].result(60)
    wait_until(lambda: topic in metadata_of(admin).topics, f"{topic} in the metadata")
    places = [[], []]

    def is_laid_out():
        places[:] = [lying_in(broker, name, topic) for name in ("one", "two")]
        return sum(map(len, places)) == 2

    wait_until(is_laid_out, f"two logs at broker {broker.id}", last=lambda: places)
    (failing,), (kept,) = places
    return failing, kept


class Writing:
    """Writes to a partition, record by record, and hears what became of each.

    It never asks twice, so that it hears the broker's own answer.
    """

    def __init__(self, cluster, topic, partition):
        self.written = 0
        self.errors = []
        self._place = (topic, partition)
        settings = {"bootstrap.servers": cluster.bootstrap, "acks": "all", "retries": 0}
        self._producer = confluent_kafka.Producer(settings)

    def write(self):
        topic, partition = self._place
        self._producer.produce(topic, VALUE, partition=partition, on_delivery=self._heard)
        assert self._producer.flush(120) == 0

    def _heard(self, error, _):
        if error is None:
            self.written += 1
        else:
            self.errors.append(error.code())


def expect_it_was_left_to_others(cluster, admin, broker, topic, *, failed, kept):
    """Others lead what lay on the disk that failed; the broker stays, and leads what lies on the other."""
    pid = broker.pid

    def is_moved():
        now = partitions_of(admin, topic)[failed]
        return now.leader not in {-1, broker.id} and broker.id not in now.isrs

    wait_until(is_moved, f"the end of broker {broker.id} there", last=lambda: isrs_of(admin, topic))
    other = partitions_of(admin, topic)[kept]
    assert other.leader == broker.id
    assert broker.id in other.isrs
    assert psutil.Process(pid).is_running()
    assert broker.gauge("kafka_log_LogManager_OfflineLogDirectoryCount") == 1
    lost = [
        path for path in (broker.dir / "data" / "one").iterdir() if path.name.rpartition("-")[2].isdigit()
    ]
    assert broker.gauge("kafka_server_ReplicaManager_OfflineReplicaCount") == len(lost)
    on_good_disk = Writing(cluster, topic, kept)
    on_good_disk.write()
    assert on_good_disk.errors == []


def expect_it_comes_back(cluster, admin, broker, topic):
    cluster.restart(broker.id)
    wait_until(
        lambda: all(broker.id in partition.isrs for partition in partitions_of(admin, topic).values()),
        "its return into every ISR",
        last=lambda: isrs_of(admin, topic),
    )
    assert broker.gauge("kafka_log_LogManager_OfflineLogDirectoryCount") == 0


def test_a_full_disk_is_answered_and_left_to_others(cluster, admin):
    broker, topic = cluster.brokers[FULL], "filling"
    failed, kept = create_led_by(admin, broker, topic)
    writing = Writing(cluster, topic, failed)
    while not writing.errors:
        assert writing.written * len(VALUE) <= ROOM
        writing.write()
    assert writing.errors == [confluent_kafka.KafkaError.KAFKA_STORAGE_ERROR]
    assert os.strerror(errno.ENOSPC) in (broker.dir / "logs" / "console.log").read_text(encoding="utf-8")

    expect_it_was_left_to_others(cluster, admin, broker, topic, failed=failed, kept=kept)
    before = writing.written
    wait_until(
        lambda: writing.write() or writing.written > before, "a new leader", last=lambda: writing.errors
    )
    read_partition(cluster.bootstrap, topic, failed, at_least=writing.written)

    # With room again, the replica is cut behind its last whole batch and catches up.
    cluster.terminate(broker.id)
    command("mount", "-o", f"remount,size={4 * ROOM}", broker.dir / "data" / "one")
    expect_it_comes_back(cluster, admin, broker, topic)


def test_a_disk_that_turns_read_only_is_answered_and_left_to_others(cluster, admin, image):
    broker, topic = cluster.brokers[READ_ONLY], "refused"
    failed, kept = create_led_by(admin, broker, topic)
    disk = broker.dir / "data" / "one"
    writing = Writing(cluster, topic, failed)
    writing.write()
    assert writing.errors == []

    command("mount", "-o", "remount,abort", disk)
    writing.write()
    assert writing.errors == [confluent_kafka.KafkaError.KAFKA_STORAGE_ERROR]
    assert os.strerror(errno.EROFS) in logged(broker.dir / "logs" / "server.log")

    expect_it_was_left_to_others(cluster, admin, broker, topic, failed=failed, kept=kept)
    wait_until(lambda: writing.write() or writing.written > 1, "a new leader", last=lambda: writing.errors)
    read_partition(cluster.bootstrap, topic, failed, at_least=writing.written)

    # A start serves what lies on the good disk, and makes nothing of the other anew there.
    cluster.restart(broker.id)
    wait_until(
        lambda: broker.id in partitions_of(admin, topic)[kept].isrs,
        "its return into the ISR",
        last=lambda: isrs_of(admin, topic),
    )
    assert broker.id not in partitions_of(admin, topic)[failed].isrs
    assert not (broker.dir / "data" / "two" / f"{topic}-{failed}").exists()

    # What lies on the disk is mounted as another one: the old one may live on in somebody's mount namespace.
    cluster.terminate(broker.id)
    command("umount", "--lazy", disk)
    healed = image.with_name("healed")
    command("cp", "--sparse=always", image, healed)
    mount_image(healed, disk)
    expect_it_comes_back(cluster, admin, broker, topic)
