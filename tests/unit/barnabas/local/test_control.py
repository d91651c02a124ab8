"""The control socket: what is asked on one side is done on the other."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.local.control import (
    BROKER_COMMANDS,
    DEFAULT_DIRECTORY,
    BrokerState,
    BrokerStatus,
    ClusterStatus,
    ControlClient,
    NotRunningError,
    answer_to,
    command_for,
    served,
    socket_path,
)
from barnabas.local.errors import ClusterError

STATUS = ClusterStatus(
    pid=7,
    zookeeper="127.0.0.1:1",
    zookeeper_pid=None,
    brokers=(BrokerStatus(1, BrokerState.PAUSED, 8, "127.0.0.1:2", "127.0.0.1:3", "/d", controller=False),),
)


class Recorder:
    """A cluster that notes its commands; broker 9 is unknown."""

    def __init__(self, pid: int = 7) -> None:
        self.calls: list[tuple[str, int]] = []
        self._pid = pid

    def status(self) -> ClusterStatus:
        return STATUS

    def down(self) -> int:
        self.calls.append(("down", 0))
        return self._pid

    def __getattr__(self, name: str):
        def call(broker: int) -> None:
            if broker == 9:
                raise ClusterError("there is no broker 9")
            self.calls.append((name, broker))

        return call


@pytest.fixture
def recorder(tmp_path: Path):
    recorder = Recorder()
    with served(recorder, tmp_path):
        yield recorder


def test_commands_and_the_status_pass_through_the_socket(tmp_path: Path, recorder: Recorder) -> None:
    client = ControlClient(tmp_path)
    for command in BROKER_COMMANDS:
        client.perform(command, 2)
    assert recorder.calls == [(command, 2) for command in BROKER_COMMANDS]
    assert client.status() == STATUS
    assert client.down() == 7


def test_an_error_of_a_command_is_raised_by_the_client(tmp_path: Path, recorder: Recorder) -> None:
    with pytest.raises(ClusterError, match="there is no broker 9"):
        ControlClient(tmp_path).perform("kill", 9)


def test_only_its_user_may_open_the_socket(tmp_path: Path, recorder: Recorder) -> None:
    assert socket_path(tmp_path).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "line", [b"nonsense", b"[]", b"{}", b'{"command": "kill"}', b'{"command": "__init__", "broker": 1}']
)
def test_what_is_no_command_is_refused(line: bytes) -> None:
    assert "not a command" in answer_to(Recorder(), line)["error"]


def test_without_a_supervisor_the_error_says_what_starts_one(tmp_path: Path) -> None:
    with pytest.raises(NotRunningError, match="no cluster runs in"):
        ControlClient(tmp_path).status()


def test_the_socket_of_a_killed_supervisor_is_replaced(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(socket_path(tmp_path)))
    with pytest.raises(NotRunningError):
        ControlClient(tmp_path).status()
    with served(Recorder(), tmp_path):
        assert ControlClient(tmp_path).status() == STATUS
    assert not socket_path(tmp_path).exists()


def test_a_long_directory_has_its_socket_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    long = tmp_path / ("x" * 120)
    assert socket_path(long).parent == tmp_path / "cache" / "barnabas"
    assert socket_path(long) != socket_path(tmp_path / ("y" * 120))


def test_a_stop_is_over_when_the_supervisor_has_ended(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    with served(Recorder(process.pid), tmp_path):
        with pytest.raises(ClusterError, match=f"did not stop within 0 s; its process is {process.pid}"):
            ControlClient(tmp_path).down_and_wait(0)
        process.communicate(b"\n")
        ControlClient(tmp_path).down_and_wait(0)
    assert process.pid != os.getpid()


@pytest.mark.parametrize(
    ("directory", "command"),
    [
        (DEFAULT_DIRECTORY, "`barnabas kill 2`"),
        (Path("other"), "`barnabas kill 2 --dir other`"),
        (Path("my cluster"), "`barnabas kill 2 --dir 'my cluster'`"),
    ],
)
def test_a_command_in_a_message_reaches_the_cluster_that_it_is_about(directory, command):
    assert command_for(directory, "kill", "2") == command
