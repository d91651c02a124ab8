"""The README's walk through a cluster in containers: its commands, as they stand there, in their order."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.chaos.targets import commands
from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.observe import Observer
from barnabas.local.waiting import wait_until
from barnabas.workload.clients import LIBRARIES

pytestmark = [pytest.mark.containers, pytest.mark.faults, pytest.mark.spark, pytest.mark.timeout(2700)]

ROOT = Path(__file__).parents[2]
TOPIC = "orders"
PARTITIONS = [TopicPartition(TOPIC, number) for number in range(3)]
DEADLINE_S = 300.0
COMMAND_TIMEOUT_S = 1200.0
OTHER_USER = 1234


def steps_of_the_readme() -> Iterator[str]:
    """What the section has after its prompts."""
    (section,) = re.findall(
        r"^## In containers\n(.*?)(?=^## |\Z)", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    yield from re.findall(r"^\$ (.*)$", section, re.MULTILINE)


def run(command: str) -> str:
    """What a shell prints for the command, which succeeds."""
    in_root = ("env", "--chdir", str(ROOT), "sh", "-c", command)
    return commands.run(AssertionError, *in_root, timeout_s=COMMAND_TIMEOUT_S)


class Writer:
    """The command that writes in a loop, in a terminal of its own."""

    def __init__(self, command: str) -> None:
        self._terminal, inside = pty.openpty()
        self._process = subprocess.Popen(
            f"exec {command}",
            shell=True,
            cwd=ROOT,
            stdin=inside,
            stdout=inside,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(inside)
        self.events: list[dict[str, object]] = []
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self) -> None:
        rest = b""
        # A terminal that nobody writes to any more is not at its end, but in error.
        with contextlib.suppress(OSError):
            while data := os.read(self._terminal, 65536):
                *lines, rest = (rest + data).split(b"\n")
                # It shows "^C", too, where that is typed.
                self.events += [json.loads(line[line.index(b"{") :]) for line in lines]

    def acknowledged(self) -> list[str]:
        """The values that a broker acknowledged, in order."""
        return [str(event["value"]) for event in self.events if event["name"] == "producer_send_success"]

    def goes_on(self) -> None:
        """Wait until it has written some more."""
        before = len(self.acknowledged())
        wait_until(
            lambda: len(self.acknowledged()) >= before + 10,
            f"ten more than {before} acknowledged",
            DEADLINE_S,
        )

    def interrupt(self) -> dict[str, object]:
        """Ctrl-C, and its last line."""
        os.write(self._terminal, b"\x03")
        assert self._process.wait(DEADLINE_S) == 0
        self._reading.join(DEADLINE_S)
        return self.events[-1]

    def end(self) -> None:
        """End it, whatever it does."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reading.join()
        os.close(self._terminal)


def in_sync(described: str) -> list[set[str]]:
    """The ISR of each partition that `--describe` printed."""
    return [set(found.split(",")) for found in re.findall(r"Isr: ([\d,]*)", described)]


@pytest.fixture
def bootstrap(image, built, compose_environment, tmp_path):
    built("analyze")
    report = tmp_path / "report"
    report.mkdir()
    if os.geteuid() == 0:
        # Somebody's who is neither root nor the image's own user.
        os.chown(report, OTHER_USER, OTHER_USER)
    with compose_environment("walk", REPORT_DIR=str(report)) as servers:
        try:
            yield servers
        finally:
            run("docker compose --profile client --profile analyze down --volumes --remove-orphans")


def test_the_walk_through(bootstrap, tmp_path):
    steps = steps_of_the_readme()
    assert run(next(steps)) == ""
    assert run(next(steps)) == f"Created topic {TOPIC}.\n"
    writer = Writer(next(steps))
    try:
        break_and_mend(writer, steps)
        told = writer.interrupt()
    finally:
        writer.end()
    assert told["name"] == "tool_data"
    assert told["sent"] == told["acked"] == len(writer.acknowledged())
    assert sorted(read_back(bootstrap), key=int) == sorted(writer.acknowledged(), key=int)

    summary = run(next(steps))
    assert "is controller, epoch" in summary
    report = tmp_path / "report" / "report.html"
    assert TOPIC in report.read_text()
    assert report.stat().st_uid == report.parent.stat().st_uid

    run(next(steps))
    assert run("docker compose ps --all --quiet") == ""
    assert list(steps) == []


def break_and_mend(writer: Writer, steps: Iterator[str]) -> None:
    writer.goes_on()
    run(next(steps))  # kill broker 2
    describe = next(steps)
    wait_until(lambda: in_sync(run(describe)) == [{"1", "3"}] * 3, "an ISR without broker 2", DEADLINE_S)
    writer.goes_on()

    run(next(steps))  # kill the controller
    running = run("docker compose ps --services").split()
    assert len([name for name in running if name.startswith("broker-")]) == 1

    run(next(steps))  # up
    writer.goes_on()
    wait_until(lambda: in_sync(run(describe)) == [{"1", "2", "3"}] * 3, "every replica in sync", DEADLINE_S)


def read_back(bootstrap: str) -> list[str]:
    """Every value in the topic, read from this host."""
    Observer(bootstrap).wait_until_in_sync(TOPIC, partitions=len(PARTITIONS), timeout_s=DEADLINE_S)
    reader = LIBRARIES["confluent-kafka"].reader(bootstrap, PARTITIONS)
    values = []
    while any(reader.position(tp) != reader.end(tp) for tp in PARTITIONS):
        values += [value.decode() for _, _, value in reader.poll()]
    reader.close()
    return values
