"""Three brokers in containers: one's container is killed under load, and nothing acknowledged is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from testcontainers.compose import DockerCompose

from barnabas.faults.trial import Trial
from barnabas.ports import any_free
from cluster.model.ids import BrokerId

ROOT = Path(__file__).parents[2]
REQUIRED = os.environ.get("REQUIRE_CONTAINERS") == "1"
# Its own project, so that a cluster that somebody composed by hand keeps its volumes.
PROJECT = "barnabas-test"


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


class ComposedCluster:
    """The cluster of docker-compose.yml, as clients on this host and a nemesis see it."""

    def __init__(self, compose: DockerCompose, bootstrap: str) -> None:
        self._compose = compose
        self.bootstrap = bootstrap

    def kill(self, broker_id: BrokerId) -> None:
        """SIGKILL to the broker's container."""
        self._run("kill", "--signal", "SIGKILL", f"broker-{broker_id}")

    def pause(self, broker_id: BrokerId) -> None:
        """Freeze the container."""
        self._run("pause", f"broker-{broker_id}")

    def resume(self, broker_id: BrokerId) -> None:
        """Thaw the container."""
        self._run("unpause", f"broker-{broker_id}")

    def restart(self, broker_id: BrokerId) -> None:
        """Start the killed container again and wait until it is healthy."""
        self._run("up", "--detach", "--wait", "--no-build", f"broker-{broker_id}")

    def _run(self, *arguments: str) -> None:
        subprocess.run(
            [*self._compose.compose_command_property, *arguments],
            cwd=self._compose.context,
            check=True,
            capture_output=True,
        )


@pytest.fixture
def composed(monkeypatch: pytest.MonkeyPatch) -> Iterator[ComposedCluster]:
    reason = lacking()
    if reason is not None and REQUIRED:
        pytest.fail(f"REQUIRE_CONTAINERS=1, but {reason}")
    if reason is not None:
        pytest.skip(reason)
    monkeypatch.setenv("COMPOSE_PROJECT_NAME", PROJECT)
    # And its own ports: 9092 to 9094 may be those of a `barnabas up` on this host.
    ports = [broker.kafka for broker in any_free(3).brokers]
    for number, port in enumerate(ports, start=1):
        monkeypatch.setenv(f"BROKER_{number}_PORT", str(port))
    with DockerCompose(ROOT, build=True, wait=True) as compose:
        yield ComposedCluster(compose, ",".join(f"localhost:{port}" for port in ports))


@pytest.mark.containers
@pytest.mark.faults
@pytest.mark.timeout(900)
def test_a_killed_container_loses_nothing(composed: ComposedCluster, tmp_path: Path) -> None:
    with Trial(composed) as trial:
        trial.workload.wait_for_progress(60)
        victim = trial.nemesis.kill_leader_of_most()
        trial.workload.wait_for_progress(60)
        trial.nemesis.restart(victim)
        trial.wait_until_in_sync(60)
        trial.workload.wait_for_progress(60)
    verdict = trial.judge(keep_in=tmp_path)
    assert verdict.problems() == []
    assert verdict.unknown == verdict.failed == 0
    assert verdict.acknowledged == verdict.read == verdict.sent
    assert verdict.acknowledged > 1_000
