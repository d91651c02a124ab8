"""The embedded server as a process: it starts, starts again, and says clearly why it cannot run."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from barnabas.local.waiting import wait_until
from barnabas.local.zookeeper import EmbeddedZooKeeper
from barnabas.local.zookeeper_jars import ZooKeeperStartError, find_jars


def answers(address: str, patience_s: float = 60) -> bool:
    host, port = address.split(":")
    try:
        with socket.create_connection((host, int(port)), timeout=patience_s) as connection:
            connection.sendall(b"srvr")
            return b"Mode: standalone" in connection.makefile("rb").read()
    except OSError:
        return False


def process_is_gone(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True
    return status.rpartition(")")[2].split()[0] == "Z"


def test_restarts_on_the_same_port_after_stop_and_after_kill(tmp_path: Path) -> None:
    server = EmbeddedZooKeeper(tmp_path / "zk")
    assert server.pid is None
    address = server.address
    for end in (server.stop, server.kill, server.stop):
        server.start()
        assert server.pid is not None
        assert server.address == address
        assert answers(address)
        end()
        assert server.pid is None
        assert not answers(address)


def test_the_first_server_of_its_kind_keeps_its_classes_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BARNABAS_ZOOKEEPER_JARS", str(find_jars()[0].parent))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    server = EmbeddedZooKeeper(tmp_path / "zk")
    server.start()
    server.kill()  # has no time to write it
    for _ in range(2):
        with server:
            assert server.pid is not None
            options = Path(f"/proc/{server.pid}/cmdline").read_text().split("\0")
    (archive,) = (tmp_path / "cache" / "barnabas" / "classes").iterdir()
    assert f"-XX:SharedArchiveFile={archive}" in options
    assert "warning" not in server.log_file.read_text()


def test_held_it_is_silent_and_goes_on_where_it_was(tmp_path: Path) -> None:
    server = EmbeddedZooKeeper(tmp_path / "zk")
    server.pause()
    server.resume()
    with server:
        server.pause()
        assert not answers(server.address, patience_s=1)
        server.resume()
        server.wait_ready()


def test_keeps_snapshots_and_transaction_log_apart(tmp_path: Path) -> None:
    with EmbeddedZooKeeper(tmp_path / "zk") as server:
        assert (server.directory / "data" / "version-2").is_dir()
        assert (server.directory / "datalog" / "version-2").is_dir()
        assert "ERROR" not in server.log_file.read_text()


def test_a_taken_port_is_one_clear_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ZooKeeperStartError, match=f"cannot listen on 127.0.0.1:{port}: .*in use"):
            EmbeddedZooKeeper(tmp_path, port).start()


def test_a_directory_serves_one_server(tmp_path: Path) -> None:
    with (
        EmbeddedZooKeeper(tmp_path / "zk"),
        pytest.raises(ZooKeeperStartError, match=r"another ZooKeeper runs on the directory .*zk"),
    ):
        EmbeddedZooKeeper(tmp_path / "zk").start()


def test_a_server_that_ends_at_its_start_is_reported_with_its_own_words(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "version-2").write_text("a file where a directory must be")
    with pytest.raises(ZooKeeperStartError, match=r"ended at its start: .*version-2") as caught:
        EmbeddedZooKeeper(tmp_path).start()
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
def test_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import sys, time
        from barnabas.local.zookeeper import EmbeddedZooKeeper
        server = EmbeddedZooKeeper(sys.argv[1])
        server.start()
        print(server.pid, flush=True)
        time.sleep(60)
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "zk")], stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not process_is_gone(pid)
        parent.kill()
    wait_until(lambda: process_is_gone(pid), f"the end of process {pid}, which outlived its parent")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_in_the_foreground_it_runs_until_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    script = (
        "import sys; from barnabas.local import zookeeper as z; sys.exit(z.run_in_foreground(sys.argv[1], 0))"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        words = parent.stdout.readline().decode().replace(",", "").split()
        pid = int(words[-1])
        assert answers(words[3])
        os.kill(parent.pid, number)
        assert parent.wait(120) == 0
    assert process_is_gone(pid)
