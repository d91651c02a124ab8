import errno
import signal
import socket
import sys

import pytest

from barnabas import up
from barnabas.local.ports import PortError


@pytest.mark.parametrize(
    ("status", "said"), [(-9, "killed by SIGKILL"), (1, "exit status 1"), (0, "exit status 0")]
)
def test_how_a_broker_ended(status, said):
    assert up._how(status) == said


def test_a_taken_port_is_one_line_and_an_exit_status(tmp_path, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        if port + 3001 > 65535:
            pytest.skip("the system gave a port too high to count from")
        taken.listen()
        assert up.run(tmp_path, 1, port) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        f"barnabas: --port {port}: 127.0.0.1:{port}, where broker 1 would listen, is taken"
    )


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
    def taken(*_):
        raise PortError("taken")

    monkeypatch.setattr(up, "LocalCluster", taken)
    monkeypatch.setattr(up, "live_process", {tmp_path / "broker-2": 72}.get)
    assert up.run(tmp_path, 2, 9092) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first == "barnabas: taken"
    assert second.endswith("keeps running, process 72; stop it with: kill 72")
