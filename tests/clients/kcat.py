"""kcat: it writes, reads alone in a group, and shares a topic with a second kcat while a broker is killed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import confluent_kafka.admin

from barnabas.local.cluster import LocalCluster
from tests.clients.running import RECORDS, Result, checked, client_of, run, wait_for

PARTITIONS = 4
MISSING = ("it is not installed: apt-get install kcat",)
LINES = [str(number) for number in range(RECORDS)]


def name() -> str:
    """kcat with its version."""
    return "kcat " + " ".join(run("kcat", "-V").partition("Version ")[2].split()[:1])


def write(bootstrap: str, topic: str, lines: list[str], partition: int = -1) -> None:
    """Write lines, each a record, to a partition; -1 leaves the choice to kcat."""
    run("kcat", "-b", bootstrap, "-P", "-t", topic, "-p", str(partition), stdin="\n".join(lines) + "\n")


def alone(bootstrap: str) -> Result:
    """Write with kcat, and read with a group of one member (``kcat -G``), twice."""
    if shutil.which("kcat") is None:
        return Result("kcat", 0, MISSING)
    write(bootstrap, "kcat", LINES)
    group = ("kcat", "-q", "-b", bootstrap, "-G", "kcat", "-X", "auto.offset.reset=earliest")
    read = run(*group, "-c", str(RECORDS), "kcat").split()
    again = run(*group, "-e", "kcat").split()
    return checked(
        name(),
        {
            "kcat -P, kcat -G read all records": sorted(read) == sorted(LINES),
            "kcat -G goes on where it has committed": again == [],
        },
    )


class Member:
    """``kcat -G`` of a group, which runs until it is ended.

    Args:
        bootstrap: The brokers.
        topic: The topic, and the group.
        folder: Where its output goes.
    """

    def __init__(self, bootstrap: str, topic: str, folder: Path, number: int) -> None:
        self._read, self._said = folder / f"read-{number}", folder / f"said-{number}"
        options = ("-u", "-X", "auto.offset.reset=earliest", "-X", "session.timeout.ms=6000")
        command = ("kcat", "-b", bootstrap, "-G", topic, *options, topic)
        with self._read.open("w") as read, self._said.open("w") as said:
            self._process = subprocess.Popen(command, stdout=read, stderr=said)

    def read(self) -> list[str]:
        """The records that it has printed."""
        return self._read.read_text().split()

    def assigned(self) -> list[int]:
        """The partitions that it has."""
        rebalances = re.findall(r"rebalanced .*?: (assigned|revoked): (.*)", self._said.read_text())
        if not rebalances or rebalances[-1][0] == "revoked":
            return []
        return sorted(int(number) for number in re.findall(r"\[(\d+)\]", rebalances[-1][1]))

    def end(self) -> None:
        """Let it leave."""
        self._process.terminate()
        self._process.wait()


def two_members(cluster: LocalCluster) -> Result:
    """Let two members share a topic, kill the coordinator while they read, and let one leave."""
    if shutil.which("kcat") is None:
        return Result("kcat -G", 0, MISSING)
    topic = "kcat-shared"
    admin = confluent_kafka.admin.AdminClient(client_of(cluster.bootstrap))
    admin.create_topics([confluent_kafka.admin.NewTopic(topic, PARTITIONS, 3)])[topic].result()
    write(cluster.bootstrap, topic, LINES)
    everything = list(range(PARTITIONS))
    with TemporaryDirectory() as folder:
        members = [Member(cluster.bootstrap, topic, Path(folder), 1)]
        try:
            one = _wait(lambda: members[0].assigned() == everything)
            members.append(Member(cluster.bootstrap, topic, Path(folder), 2))

            def share() -> bool:
                first, second = (each.assigned() for each in members)
                return len(first) == len(second) and sorted(first + second) == everything

            two = _wait(share)
            coordinator = admin.describe_consumer_groups([topic])[topic].result().coordinator.id
            cluster.kill(coordinator)
            more = [f"more-{line}" for line in LINES]
            for partition in everything:  # librdkafka would send all that is written at once to one partition
                write(cluster.bootstrap, topic, more[partition::PARTITIONS], partition)
            survived = _wait(lambda: {*LINES, *more} <= {*members[0].read(), *members[1].read()})
            both = [any(line.startswith("more-") for line in each.read()) for each in members]
            members.pop().end()
            left = _wait(lambda: members[0].assigned() == everything)
        finally:
            for each in members:
                each.end()
    cluster.restart(coordinator)
    return checked(
        f"{name()} -G",
        {
            "one member has all partitions": one,
            "two members share them": two,
            "all records are read though the coordinator is killed": survived,
            "both members read": all(both),
            "the member that is left has all partitions": left,
        },
    )


def _wait(holds: Callable[[], bool]) -> bool:
    return wait_for(holds, bool, lambda: True)
