"""`barnabas up` and what it leaves behind, on real processes."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from barnabas.cluster.model.properties import parse_properties

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


def test_a_broker_that_dies_is_reported_and_left_dead_and_can_be_started_by_hand(up, tmp_path):
    process, directory = up
    broker = cluster_file(directory)["brokers"][1]
    psutil.Process(broker["pid"]).kill()
    said = lines_until(process, "stop it yourself")
    (command,) = [line.partition("with: ")[2] for line in said if "start it again" in line]
    assert any("broker 2 ended: killed by SIGKILL; it is not started again" in line for line in said)
    by_hand = subprocess.Popen(
        shlex.split(command),
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in by_hand.stderr:
        if "started" in line:
            break
    assert Path(broker["dir"], "broker.pid").read_text().strip() == str(by_hand.pid)
    by_hand.send_signal(signal.SIGTERM)
    by_hand.stderr.read()
    assert by_hand.wait() == 0
    assert not Path(broker["dir"], "broker.pid").exists()
    by_hand.stderr.close()


def test_a_zookeeper_that_dies_is_started_again_and_all_goes_on(up):
    process, directory = up
    before = cluster_file(directory)["zookeeper"]
    psutil.Process(before["pid"]).kill()
    said = lines_until(process, "process")
    assert any("ZooKeeper ended: killed by SIGKILL; starting it again" in line for line in said)
    after = cluster_file(directory)["zookeeper"]
    assert after["address"] == before["address"]
    assert after["pid"] != before["pid"]
    assert process.poll() is None
    brokers = [broker for broker in cluster_file(directory)["brokers"] if broker["id"] != 2]
    assert all(psutil.pid_exists(broker["pid"]) for broker in brokers)


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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_all_of_it_within_ten_seconds(tmp_path, number):
    process = subprocess.Popen(
        [*UP, "--dir", str(tmp_path), "--port", "0", "--brokers", "2"], stdout=subprocess.PIPE, text=True
    )
    lines_until(process, "ready after")
    told = cluster_file(tmp_path)
    children = [
        psutil.Process(told["zookeeper"]["pid"]),
        *(psutil.Process(b["pid"]) for b in told["brokers"]),
    ]
    began = time.monotonic()
    process.send_signal(number)
    said = process.stdout.read()
    assert process.wait() == 0
    # The one time limit of the issue itself: it bounds what a person waits for, not how fast we are.
    assert time.monotonic() - began < 10
    assert "was killed" not in said
    assert not any(child.is_running() for child in children)
    for broker in told["brokers"]:
        assert (Path(broker["dir"], "data", ".kafka_cleanshutdown")).exists()
    process.stdout.close()
