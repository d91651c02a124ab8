import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.properties import parse_properties
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.metrics_page import MetricsPage
from barnabas.local.broker_process import BrokerProcess, live_process
from barnabas.local.children import Children
from barnabas.local.ports import BrokerPorts


@pytest.fixture
def armed():
    return []


@pytest.fixture
def page(armed):
    metrics = Metrics()
    metrics.broker_state.set(3)
    page = MetricsPage("127.0.0.1", 0, metrics.registry, lambda: True, lambda *what: armed.append(what))
    yield page
    page.close()


def broker(directory, metrics=3):
    return BrokerProcess(BrokerId(2), Path(directory), BrokerPorts(1, 2, metrics), Children())


def test_its_settings_are_written_for_a_start_by_hand(tmp_path):
    broker(tmp_path).write_properties("127.0.0.1:2181", 3, {"min.insync.replicas": "2"})
    settings = parse_properties((tmp_path / "server.properties").read_text())
    assert settings["broker.id"] == "2"
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:1,GRPC://127.0.0.1:2"
    assert settings["zookeeper.session.timeout.ms"] == "4000"
    assert settings["state.change.log.level"] == "TRACE"
    assert settings["pid.file"] == str(tmp_path / "broker.pid")
    assert settings["min.insync.replicas"] == "2"


def test_its_own_settings_win(tmp_path):
    process = broker(tmp_path)
    process.own_settings["broker.rack"] = "b"
    process.write_properties("127.0.0.1:2181", 3, {"broker.rack": "a", "num.partitions": "2"})
    settings = parse_properties((tmp_path / "server.properties").read_text())
    assert (settings["broker.rack"], settings["num.partitions"]) == ("b", "2")


def test_the_command_that_starts_it_by_hand_is_whole(tmp_path):
    one = broker(tmp_path / "my cluster")
    assert shlex.split(one.command) == [
        sys.executable,
        "-m",
        "barnabas.broker",
        str(tmp_path / "my cluster" / "server.properties"),
    ]


def test_its_entry_in_cluster_json(tmp_path):
    assert broker(tmp_path).describe() == {
        "id": 2,
        "pid": None,
        "kafka": "127.0.0.1:1",
        "grpc": "127.0.0.1:2",
        "metrics": "127.0.0.1:3",
        "dir": str(tmp_path),
        "state_change_log": str(tmp_path / "logs" / "state-change.log"),
    }


def test_a_metric_is_read_from_its_page(tmp_path, page):
    one = broker(tmp_path, page.port)
    assert one.gauge("kafka_server_KafkaServer_BrokerState") == 3
    assert one.gauge("no_such_metric") is None


def test_a_broker_that_does_not_answer_tells_nothing(tmp_path):
    assert broker(tmp_path, 1).gauge("kafka_server_KafkaServer_BrokerState") is None


def test_a_failpoint_is_armed_through_its_page(tmp_path, page, armed):
    broker(tmp_path, page.port).arm("follower.fetch", "pause")
    assert [(point.name, action.value) for point, action in armed] == [("follower.fetch", "pause")]
    with pytest.raises(ValueError, match="no failpoint is called 'x'"):
        broker(tmp_path, page.port).arm("x", "pause")


def test_without_a_process_there_is_nothing_to_signal_or_wait_for(tmp_path):
    one = broker(tmp_path)
    one.signal(signal.SIGTERM)
    assert one.wait(0)
    assert (one.pid, one.exit_status) == (None, None)


def test_its_last_words(tmp_path):
    one = broker(tmp_path)
    one.console.parent.mkdir()
    one.console.write_text("")
    assert one.last_words() == "it printed nothing"
    one.console.write_text("first\nlast\n\n")
    assert one.last_words() == "last"


@pytest.mark.parametrize("text", [None, "", "none", "2147483647"])
def test_a_directory_without_a_live_process(tmp_path, text):
    if text is not None:
        (tmp_path / "broker.pid").write_text(text)
    assert live_process(tmp_path) is None


def test_only_a_broker_counts_as_the_process_of_a_directory(tmp_path):
    for argument, is_broker in (("barnabas.broker", True), ("something.else", False)):
        with subprocess.Popen(
            [sys.executable, "-c", "print(flush=True); input()", argument],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            process.stdout.readline()
            (tmp_path / "broker.pid").write_text(f"{process.pid}\n")
            assert live_process(tmp_path) == (process.pid if is_broker else None)
            process.communicate(b"\n")
