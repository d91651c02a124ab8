"""What tests in containers share: an engine that answers, images built once, and projects of their own."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from testcontainers.compose import DockerCompose

from barnabas.chaos.targets.commands import run
from barnabas.local.ports import any_free

ROOT = Path(__file__).parents[2]
REQUIRED = os.environ.get("REQUIRE_CONTAINERS") == "1"
IN_ROOT = ("env", "--chdir", str(ROOT))
COMMAND_TIMEOUT_S = 900.0
IMAGE = "barnabas-test"
"""Not the name that people's own clusters run."""


def lacking() -> str | None:
    """Why no container can be started here; None where one can."""
    if shutil.which("docker") is None:
        return "docker is not installed"
    for command in (["docker", "info"], ["docker", "compose", "version"]):
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip()
            return f"`{' '.join(command)}` fails: {said.splitlines()[-1] if said else done.returncode}"
    return None


def require(reason: str | None) -> None:
    """Skip the test for this reason, if there is one; fail where containers are required."""
    if reason is not None and REQUIRED:
        pytest.fail(f"REQUIRE_CONTAINERS=1, but {reason}")
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def required() -> Callable[[str | None], None]:
    """Skips or fails for a reason."""
    return require


@pytest.fixture(scope="session")
def engine() -> None:
    """An engine answers; else the test is skipped, or fails where containers are required."""
    require(lacking())


def build(service: str) -> None:
    """Build a service's image as it stands in the working tree; other workers wait for the layers."""
    with (Path(tempfile.gettempdir()) / f"{IMAGE}-build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            ["docker", "compose", "--profile", "analyze", "build", service],
            cwd=ROOT,
            env={**os.environ, "BARNABAS_IMAGE": IMAGE},
            check=False,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.fixture(scope="session")
def image(engine: None) -> str:
    """The brokers' image, built from the working tree."""
    build("broker-1")
    return IMAGE


@dataclass(frozen=True)
class Composed:
    """A cluster of docker-compose.yml, as whoever composed it sees it."""

    compose: DockerCompose
    bootstrap: str

    def client(self, *words: str) -> str:
        """What a tool says that runs in a container of the cluster's network."""
        return self.run("run", "--rm", "-T", "client", *words)

    def run(self, *arguments: str) -> str:
        """What `docker compose` prints, asked as this cluster was started."""
        command = (*IN_ROOT, *self.compose.compose_command_property, *arguments)
        return run(AssertionError, *command, timeout_s=COMMAND_TIMEOUT_S)


@pytest.fixture(scope="session")
def built(engine: None) -> Callable[[str], None]:
    """Builds a service's image."""
    return build


@contextmanager
def environment(project: str, brokers: int = 3, **others: str) -> Iterator[str]:
    """A project of its own, so that a cluster that somebody composed by hand keeps its volumes and ports.

    Yields:
        ``bootstrap.servers`` for clients on this host.
    """
    free = any_free(brokers)
    ports = [broker.kafka for broker in free.brokers]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPOSE_PROJECT_NAME", f"barnabas-test-{project}")
        patch.setenv("BARNABAS_IMAGE", IMAGE)
        patch.delenv("COMPOSE_PROFILES", raising=False)
        patch.setenv("PAGE_PORT", str(free.zookeeper))
        for number, broker in enumerate(free.brokers, start=1):
            patch.setenv(f"BROKER_{number}_PORT", str(broker.kafka))
            patch.setenv(f"METRICS_{number}_PORT", str(broker.metrics))
        for name, value in others.items():
            patch.setenv(name, value)
        yield ",".join(f"localhost:{port}" for port in ports)


@pytest.fixture(scope="session")
def compose_environment() -> Callable[..., AbstractContextManager[str]]:
    """Gives what a test runs itself a project of its own."""
    return environment


@contextmanager
def composed(project: str, brokers: int = 3, **options: Any) -> Iterator[Composed]:
    """A cluster that runs; its volumes go with it. ``options`` are testcontainers' own."""
    with environment(project, brokers) as bootstrap, DockerCompose(ROOT, wait=True, **options) as compose:
        yield Composed(compose, bootstrap)


@pytest.fixture(scope="session")
def compose(image: str) -> Callable[..., AbstractContextManager[Composed]]:
    """Starts clusters."""
    return composed
