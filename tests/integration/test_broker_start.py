"""What a broker says where it cannot start: one clear line, an exit status, and nothing touched."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from barnabas.cluster.model.properties import parse_properties, render_properties
from barnabas.local.cluster import LocalCluster
from barnabas.local.ports import any_free
from tests.logged import logged


@pytest.fixture
def settings(tmp_path, zk_connect):
    ports = any_free(1).brokers[0]
    return {
        "broker.id": "1",
        "zookeeper.connect": zk_connect,
        "zookeeper.session.timeout.ms": "4000",
        "listeners": f"PLAINTEXT://127.0.0.1:{ports.kafka},GRPC://127.0.0.1:{ports.grpc}",
        "log.dirs": str(tmp_path / "data"),
        "kafka.logs.dir": str(tmp_path / "logs"),
    }


BOUND_BY_FILE_MODES = (
    # Root reads and writes whatever the mode says, but not without these capabilities.
    ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
)


def run_broker(tmp_path, settings, *overrides, prefix=()):
    """Run a broker that is expected to end by itself; its exit status and what it wrote to standard error."""
    file = tmp_path / "server.properties"
    file.write_text(render_properties(settings))
    done = subprocess.run(
        [*prefix, sys.executable, "-P", "-m", "barnabas.broker", str(file), *overrides],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=tmp_path,
    )
    return done.returncode, done.stderr


def only_line(status, text):
    assert status == 1, text
    assert "Traceback" not in text
    entries = [line for line in text.splitlines() if not line[:1].isspace()]  # all settings are one entry
    errors = [line for line in entries if "] INFO " not in line and "] WARN " not in line]
    assert len(errors) == 1, text
    return errors[0]


def test_a_bad_value_is_named_before_anything_is_touched(tmp_path, settings):
    line = only_line(*run_broker(tmp_path, {**settings, "num.partitions": "none"}))
    assert "num.partitions has the value 'none'; it must be a whole number" in line
    assert not (tmp_path / "data").exists()
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize("listener", ["PLAINTEXT", "GRPC"])
def test_a_taken_port_is_named(tmp_path, settings, listener):
    address = next(part for part in settings["listeners"].split(",") if part.startswith(listener))
    with socket.create_server(("127.0.0.1", int(address.rpartition(":")[2]))):
        line = only_line(*run_broker(tmp_path, settings))
    assert f"Cannot listen on {address}" in line
    assert not (tmp_path / "data").exists()


def test_a_zookeeper_that_is_away_is_waited_for_and_then_named(tmp_path, settings):
    settings = {**settings, "zookeeper.connect": "127.0.0.1:1", "zookeeper.connection.timeout.ms": "1000"}
    began = time.monotonic()
    line = only_line(*run_broker(tmp_path, settings))
    assert time.monotonic() - began >= 1
    assert "127.0.0.1:1" in line
    assert "zookeeper.connect" in line
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("mode", [0o500, 0o000], ids=["not written", "not read"])
def test_a_log_directory_that_may_not_be_used_is_named(tmp_path, settings, mode):
    (tmp_path / "data").mkdir(mode=mode)
    line = only_line(*run_broker(tmp_path, settings, prefix=BOUND_BY_FILE_MODES))
    assert str(tmp_path / "data") in line
    assert "Permission denied" in line


def test_a_log_directory_of_another_broker_is_named(tmp_path, settings):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "meta.properties").write_text("version=0\nbroker.id=7\n")
    line = only_line(*run_broker(tmp_path, settings))
    assert "7" in line
    assert str(tmp_path / "data") in line


@pytest.fixture(scope="module")
def first(request, shared_clusters):
    """A cluster of broker 1 alone, and its settings."""
    with shared_clusters.lent(request.session, {}, brokers=1) as cluster:
        yield cluster, parse_properties(cluster.brokers[1].properties.read_text())


def test_who_advertises_the_same_as_a_live_broker_of_its_id_is_refused(tmp_path, settings, first):
    """What is advertised proves nothing: both may stand behind one address."""
    cluster, own = first
    before = cluster.brokers[1].gauge("process_start_time_seconds")
    same = {"zookeeper.connect": cluster.zookeeper_connect, "advertised.listeners": own["listeners"]}
    line = only_line(*run_broker(tmp_path, settings | same))
    assert "Cannot register broker.id 1: /brokers/ids/1 is registered by another broker" in line
    cluster.wait_ready()
    assert cluster.brokers[1].gauge("process_start_time_seconds") == before
    assert "has vanished" not in _read(cluster.brokers[1].state_change_log.with_name("server.log"))


def test_a_log_directory_in_use_is_named(tmp_path, settings, first):
    used = first[1]["log.dirs"]
    assert used in only_line(*run_broker(tmp_path, settings | {"log.dirs": used}))


def test_one_bad_log_directory_of_two_is_named_and_the_broker_serves_without_it(tmp_path, zk_connect):
    bad = tmp_path / "bad"
    bad.write_text("I am a file")
    overrides = {"log.dirs": f"{tmp_path / 'good'},{bad}"}
    with LocalCluster(tmp_path / "c", brokers=1, zookeeper=zk_connect, overrides=overrides) as cluster:
        broker = cluster.brokers[1]
        log = logged(broker.directory / "logs" / "server.log")
        assert f"The log directory {bad} cannot be used" in log
        assert broker.gauge("kafka_log_LogManager_OfflineLogDirectoryCount") == 1


@pytest.mark.parametrize("closed", [">&- 2>&-", "| true"])
def test_without_anybody_who_reads_its_output_it_serves_and_a_hangup_stops_it_cleanly(
    tmp_path, settings, closed
):
    settings = {**settings, "pid.file": str(tmp_path / "pid")}
    file = tmp_path / "server.properties"
    file.write_text(render_properties(settings))
    # The pipe's reader ends at once; the shell tells how the broker ended.
    broker = f"{{ {sys.executable} -P -m barnabas.broker {file}; echo $? > {tmp_path / 'status'}; }} {closed}"
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which a child inherits where it is ignored
    shell = subprocess.Popen(["bash", "-c", broker], cwd=tmp_path)
    signal.signal(signal.SIGHUP, before)
    try:
        while "started" not in (log := _read(tmp_path / "logs" / "server.log")):
            assert shell.poll() is None, log
            time.sleep(0.02)
        os.kill(int(_read(tmp_path / "pid")), signal.SIGHUP)
        while not _read(tmp_path / "status"):
            time.sleep(0.02)
        assert _read(tmp_path / "status") == "0\n"
    finally:
        shell.kill()
        shell.wait()
    assert "SIGHUP came; stopping" in _read(tmp_path / "logs" / "server.log")
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def _read(file):
    return logged(file) if file.exists() else ""
