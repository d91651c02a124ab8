"""`barnabas up` and what it leaves behind, on real processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import psutil
import pytest

from barnabas.cluster.model.properties import parse_properties
from barnabas.local.control import ControlClient
from barnabas.local.errors import ClusterError

UP = [sys.executable, "-P", "-m", "barnabas", "up"]


def lines_until(process: subprocess.Popen[str], text: str) -> list[str]:
    """What `up` says, up to the line with `text`; the test's own timeout ends a wait that is too long."""
    said = []
    for line in process.stdout:
        said.append(line)
        if text in line:
            return said
    pytest.fail(f"`up` ended with {process.wait()} and said: {said}")


@pytest.fixture(scope="module")
def up(tmp_path_factory):
    directory = tmp_path_factory.mktemp("up")
    process = subprocess.Popen(
        [*UP, "--dir", str(directory), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines_until(process, "ready after")
    yield process, directory
    process.kill()
    process.wait()
    process.stdout.close()


def cluster_file(directory: Path):
    return json.loads((directory / "cluster.json").read_text())


def test_cluster_json_says_who_runs_where(up):
    _process, directory = up
    told = cluster_file(directory)
    assert psutil.Process(told["zookeeper"]["pid"]).name().startswith("java")
    assert told["zookeeper"]["address"].startswith("127.0.0.1:")
    assert [broker["id"] for broker in told["brokers"]] == [1, 2, 3]
    for broker in told["brokers"]:
        assert broker.keys() == {"id", "pid", "kafka", "grpc", "metrics", "dir", "state_change_log"}
        assert psutil.pid_exists(broker["pid"])
        assert Path(broker["dir"], "broker.pid").read_text().strip() == str(broker["pid"])
        assert Path(broker["state_change_log"]).is_file()
        settings = parse_properties(Path(broker["dir"], "server.properties").read_text())
        assert settings["zookeeper.session.timeout.ms"] == "4000"
        assert settings["state.change.log.level"] == "TRACE"
        assert (settings["default.replication.factor"], settings["min.insync.replicas"]) == ("3", "2")


def test_a_broker_that_a_command_killed_stays_down_and_one_that_died_comes_back(up):
    process, directory = up
    client = ControlClient(directory)
    client.perform("kill", 2)
    psutil.Process(client.status().brokers[2].pid).kill()
    said = lines_until(process, "broker 3 ended: killed by SIGKILL; it was started again")
    assert "barnabas: broker 2 was killed\n" in said
    states = {broker.id: broker.state for broker in client.status().brokers}
    assert states[2] == "killed"
    client.perform("start", 2)
    told = {broker["id"]: broker["pid"] for broker in cluster_file(directory)["brokers"]}
    assert Path(directory, "broker-2", "broker.pid").read_text().strip() == str(told[2])
    client.perform("stop", 2)
    assert Path(directory, "broker-2", "data", ".kafka_cleanshutdown").exists()
    with pytest.raises(ClusterError, match="there is no broker 9: expected one of 1, 2, 3"):
        client.perform("kill", 9)
    assert process.poll() is None


def test_a_zookeeper_that_dies_is_started_again_and_all_goes_on(up):
    process, directory = up
    before = cluster_file(directory)["zookeeper"]
    psutil.Process(before["pid"]).kill()
    said = lines_until(process, "ZooKeeper on")
    assert any("ZooKeeper ended: killed by SIGKILL; starting it again" in line for line in said)
    after = cluster_file(directory)["zookeeper"]
    assert after["address"] == before["address"]
    assert after["pid"] != before["pid"]
    assert process.poll() is None
    assert all(
        broker.pid is not None for broker in ControlClient(directory).status().brokers if broker.id != 2
    )


def test_where_no_broker_can_start_that_is_said_at_once(tmp_path):
    (tmp_path / "broker-1").mkdir()
    (tmp_path / "broker-1" / "data").write_text("I am a file")
    done = subprocess.run(
        [*UP, "--dir", str(tmp_path), "--port", "0", "--brokers", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "broker 1 ended with status 1" in done.stderr
    assert "Cannot use log.dirs" in done.stderr
    assert "console.log" in done.stderr


def test_a_cluster_in_the_background_outlives_its_command(tmp_path):
    def barnabas(*words):
        command = [sys.executable, "-P", "-m", "barnabas", *words, "--dir", str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    up = barnabas("up", "--detach", "--port", "0", "--brokers", "1")
    assert up.returncode == 0, up.stderr
    assert up.stdout.startswith(
        f"barnabas: starting a cluster in {tmp_path}; its output is in {tmp_path}/up.log\n"
    )
    try:
        children = [psutil.Process(broker["pid"]) for broker in cluster_file(tmp_path)["brokers"]]
        assert barnabas("kill", "1").returncode == 0
        page = next(line for line in up.stdout.splitlines() if "watch it on http://127.0.0.1:" in line)
        with urllib.request.urlopen(page.split()[-1]) as answer:
            assert answer.status == 200
        assert "killed" in barnabas("status").stdout
        assert barnabas("start", "1").returncode == 0
        assert "started (kafka.server.KafkaServer)" in barnabas("logs", "1").stdout
    finally:
        down = barnabas("down")
    assert (down.returncode, down.stderr) == (0, "")
    assert not any(child.is_running() for child in children)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_all_of_it(tmp_path, number):
    process = subprocess.Popen(
        [*UP, "--dir", str(tmp_path), "--port", "0", "--brokers", "2"], stdout=subprocess.PIPE, text=True
    )
    lines_until(process, "ready after")
    told = cluster_file(tmp_path)
    children = [
        psutil.Process(told["zookeeper"]["pid"]),
        *(psutil.Process(b["pid"]) for b in told["brokers"]),
    ]
    process.send_signal(number)
    said = process.stdout.read()
    assert process.wait() == 0
    assert "was killed" not in said
    assert not any(child.is_running() for child in children)
    for broker in told["brokers"]:
        assert (Path(broker["dir"], "data", ".kafka_cleanshutdown")).exists()
    process.stdout.close()
