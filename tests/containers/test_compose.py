"""Three brokers in containers: how each is started, stopped and made, and what is in its image."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.local.waiting import wait_until

pytestmark = [pytest.mark.containers, pytest.mark.timeout(1800)]

LAYERS_MAX = 150 * 1024 * 1024
"""What may lie above the base image."""


@pytest.fixture(scope="module")
def cluster(compose):
    with compose("three") as running:
        yield running


def test_a_broker_that_ends_comes_back_but_not_from_compose_kill(cluster):
    identifier = cluster.run("ps", "--quiet", "broker-3").strip()
    cluster.run("exec", "-T", "broker-3", "sh", "-c", "kill -TERM 1")
    wait_until(
        lambda: inspected(identifier, "{{.RestartCount}}") == "1",
        "a restart",
        120,
        lambda: inspected(identifier, "{{json .State}}"),
    )
    cluster.run("up", "--detach", "--wait", "--no-build")
    cluster.run("kill", "broker-3")
    # It would be "restarting" from the moment on in which it ended.
    assert inspected(identifier, "{{.State.Status}} {{.State.ExitCode}}") == "exited 137"
    cluster.run("up", "--detach", "--wait", "--no-build")


def test_a_stopped_broker_has_handed_over(cluster):
    cluster.run("stop", "broker-2")
    assert "Controlled shutdown succeeded" in cluster.run("logs", "broker-2")
    identifier = cluster.run("ps", "--all", "--quiet", "broker-2").strip()
    assert inspected(identifier, "{{.State.ExitCode}}") == "0"
    cluster.run("up", "--detach", "--wait", "--no-build")


def test_a_stop_waits_as_long_as_a_controlled_shutdown_may_take(engine):
    tries, backoff_ms, answer_ms = (
        BROKER_CONFIGS[name].default
        for name in (
            "controlled.shutdown.max.retries",
            "controlled.shutdown.retry.backoff.ms",
            "controller.socket.timeout.ms",
        )
    )
    longest_s = (tries * answer_ms + (tries - 1) * backoff_ms) / 1000
    for service in services():
        if service.startswith("broker-"):
            assert services()[service]["stop_grace_period"] == "2m0s"
    assert longest_s < 120


def test_all_brokers_are_alike_but_for_their_number(engine):
    def without_number(name: str) -> str:
        broker = {**services()[name], "build": None, "ports": None, "profiles": None}
        number = name.removeprefix("broker-")
        return (
            json.dumps(broker, sort_keys=True)
            .replace(f"broker-{number}", "broker-N")
            .replace(f"id={number}", "id=N")
        )

    with pytest.MonkeyPatch.context() as patch:
        for number in range(1, 6):
            patch.setenv(f"BROKER_{number}_PORT", "9092")
        assert len({without_number(f"broker-{number}") for number in range(1, 6)}) == 1


def test_the_image_is_small_and_holds_neither_root_nor_compiler(image):
    base = int(inspected("python:3.11-slim-bookworm", "{{.Size}}"))
    assert int(inspected(image, "{{.Size}}")) - base < LAYERS_MAX
    assert inspected(image, "{{.Config.User}}") == "barnabas"
    tools = "for tool in cc gcc g++ javac; do command -v $tool; done; id -u"
    done = subprocess.run(
        ["docker", "run", "--rm", "--network", "none", "--entrypoint", "sh", image, "-c", tools],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "1000\n"


def inspected(what: str, form: str) -> str:
    """What `docker inspect` says of a container or an image."""
    command = ["docker", "inspect", "--format", form, what]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def services() -> dict[str, dict[str, object]]:
    """Every broker and what they need, as Compose understands them."""
    command = ["docker", "compose", "--profile", "five", "config"]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [*command, "--format", "json"], cwd=root, check=True, capture_output=True, text=True
    )
    found: dict[str, dict[str, object]] = json.loads(done.stdout)["services"]
    return found
