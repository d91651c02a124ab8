"""Running clients that are not ours, and what came of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
TIMEOUT_S = 900


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
