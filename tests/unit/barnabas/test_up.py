import errno
import signal
import socket
import sys

import pytest

from barnabas import up
from barnabas.local.control import ClusterStatus
from barnabas.local.ports import PortError
from barnabas.local.zookeeper_security import UNSECURED


def test_a_taken_port_is_one_line_and_an_exit_status(tmp_path, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        if port + 3001 > 65535:
            pytest.skip("the system gave a port too high to count from")
        taken.listen()
        assert up.run(tmp_path, 1, port, {}) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        f"barnabas: --port {port}: 127.0.0.1:{port}, where broker 1 would listen, is taken"
    )


def test_a_directory_that_cannot_be_created_is_one_line(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert up.run(tmp_path / "file" / "cluster", 1, 0, {}) == 1
    assert capsys.readouterr().err == f"barnabas: [Errno 20] Not a directory: '{tmp_path}/file/cluster'\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_request_the_stop_and_handlers_are_restored(number):
    outside = signal.signal(number, signal.SIG_DFL)
    try:
        with up._stop_requested() as stop:
            signal.raise_signal(number)
            assert stop.is_set()
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, outside)


def test_a_hangup_that_is_ignored_stays_so():
    outside = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with up._stop_requested():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, outside)


def test_an_interrupt_counts_though_a_shell_started_it_in_the_background():
    outside = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with up._stop_requested() as stop:
            signal.raise_signal(signal.SIGINT)
            assert stop.is_set()
    finally:
        signal.signal(signal.SIGINT, outside)


def test_a_terminal_that_was_closed_keeps_nothing_from_being_stopped(monkeypatch):
    class Closed:
        def write(self, _text):
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("sys.stdout", Closed())
    monkeypatch.setattr("sys.stderr", Closed())
    up._say("stopping")
    assert up._fail("broken") == 1


def test_brokers_that_were_started_elsewhere_are_named(tmp_path, capsys, monkeypatch):
    live = {tmp_path / "broker-1": 71, tmp_path / "broker-3": 73}
    monkeypatch.setattr(up, "live_process", live.get)
    up._name_other_brokers(tmp_path, 3, sys.stdout, [1])
    assert capsys.readouterr().out == (
        f"barnabas: broker 3 in {tmp_path} was not started here and keeps running, process 73; "
        "stop it with: kill 73\n"
    )


def test_who_holds_a_taken_port_is_named(tmp_path, capsys, monkeypatch):
    def taken(*_, **_by_name):
        raise PortError("taken")

    monkeypatch.setattr(up, "LocalCluster", taken)
    monkeypatch.setattr(up, "live_process", {tmp_path / "broker-2": 72}.get)
    assert up.run(tmp_path, 2, 9092, {}) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first == "barnabas: taken"
    assert second.endswith("keeps running, process 72; stop it with: kill 72")


@pytest.mark.parametrize(
    ("brokers", "replicas", "in_sync"), [(1, "1", "1"), (2, "2", "1"), (3, "3", "2"), (5, "3", "2")]
)
def test_new_topics_survive_the_death_of_a_broker_if_there_are_enough(brokers, replicas, in_sync):
    assert up.topic_defaults(brokers) == {
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
    }


def test_the_settings_of_all_brokers_win_over_the_defaults(tmp_path, monkeypatch):
    given = []

    def taken(*arguments, children, zookeeper_security):
        given.extend((*arguments, zookeeper_security))
        raise PortError("taken")

    monkeypatch.setattr(up, "LocalCluster", taken)
    up.run(tmp_path, 3, 0, {"min.insync.replicas": "1", "num.partitions": "4"})
    assert given[3] == {"default.replication.factor": "3", "min.insync.replicas": "1", "num.partitions": "4"}
    assert given[4] == UNSECURED
    for secure in (True, False):  # a secured cluster stays secured
        given.clear()
        up.run(tmp_path / "secured", 1, 0, {"super.users": "User:me"}, secure=secure)
        assert given[3]["super.users"] == "User:me"
        assert given[3]["ssl.keystore.type"] == "PEM"
        assert given[4].requires_login


def test_a_second_cluster_in_a_directory_is_refused(tmp_path, monkeypatch, capsys):
    class Running:
        def __init__(self, _directory):
            pass

        def status(self):
            return ClusterStatus(77, "z:1", None, ())

    monkeypatch.setattr(up, "ControlClient", Running)
    down = f"`barnabas down --dir {tmp_path}`"
    said = f"barnabas: a cluster runs in {tmp_path} already, process 77; {down} stops it\n"
    monkeypatch.setattr(up, "live_process", lambda _directory: 78)  # a broker of the cluster that runs
    assert up.run(tmp_path, 1, 0, {}) == 1
    assert capsys.readouterr().err == said
    assert up.detach(tmp_path, []) == 1
    assert capsys.readouterr().err == said
