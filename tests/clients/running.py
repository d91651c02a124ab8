"""Running clients that are not ours, and what came of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

T = TypeVar("T")

HERE = Path(__file__).parent
TIMEOUT_S = 900
PATIENCE_S = 120
"""How long to wait for something that happens while a program runs."""

RECORDS = 200

OVERRIDES = {
    "auto.create.topics.enable": "true",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "offsets.topic.num.partitions": "3",
}


@dataclass(frozen=True)
class Result:
    """What a client did.

    Attributes:
        client: Its name and version.
        passed: The number of its tests that passed.
        failed: What failed though it should not have.
        excused: What cannot apply, with the reason.
    """

    client: str
    passed: int
    failed: tuple[str, ...] = ()
    excused: tuple[str, ...] = ()


def run(*command: str, stdin: str | None = None, cwd: Path | None = None, **environment: str) -> str:
    """Run a command and return its output, errors included."""
    done = subprocess.run(
        command,
        input=stdin,
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return done.stdout


def client_of(bootstrap: str) -> dict[str, Any]:
    """Settings of librdkafka that let it be silent about brokers that stop."""
    return {"bootstrap.servers": bootstrap, "log_level": 2}


def watched(*command: str, until: Callable[[str], bool]) -> str:
    """Run a command that does not end by itself, until its output is as wanted or the time is over."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            return wait_for(lambda: output_of(output), until, lambda: process.poll() is None)
        finally:
            process.kill()
            process.wait()


def output_of(file: IO[str]) -> str:
    """Return what has been written to a file so far."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode(errors="replace")


def wait_for(ask: Callable[[], T], holds: Callable[[T], bool], goes_on: Callable[[], bool]) -> T:
    """Ask until the answer is as wanted, and return the last answer; `PATIENCE_S` at the most."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds(found := ask()) and goes_on() and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def checked(name: str, checks: dict[str, bool]) -> Result:
    """The result of checks that are not tests of the client's own."""
    failed = tuple(check for check, holds in checks.items() if not holds)
    return Result(name, len(checks) - len(failed), failed)


class MavenError(Exception):
    """Maven is not there, or does not find what it is asked for."""


def class_path_of(release: str, scratch: Path) -> str:
    """Return the class path of a release of Apache Kafka.

    Raises:
        MavenError: Maven cannot build it.
    """
    path = scratch / f"classpath-{release}"
    maven = ("mvn", "-q", "-f", str(HERE / "pom.xml"), f"-Dkafka.version={release}")
    if shutil.which("mvn") is None:
        raise MavenError("Maven is not installed")
    said = run(*maven, "dependency:build-classpath", f"-Dmdep.outputFile={path}")
    if not path.exists():
        raise MavenError(f"Maven did not find it: {said[-300:]}")
    return path.read_text()
