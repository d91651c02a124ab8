from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from barnabas.cluster.zk.client.errors import ZooKeeperUnavailable
from barnabas.cluster.zk.client.operations import Node, Stat
from barnabas.cluster.zk.client.security import Login
from barnabas.tools.zookeeper import zookeeper_shell
from barnabas.tools.zookeeper.zookeeper_shell import main

DEAD = """
import sys
from barnabas.tools.zookeeper import zookeeper_shell
zookeeper_shell.CONNECT_TIMEOUT_MS = 500
sys.exit(zookeeper_shell.main([sys.argv[1], "ls", "/"]))
"""

HEAD = "Connecting to z:2181\n"
CONNECTED = "\nWATCHER::\n\nWatchedEvent state:SyncConnected type:None path:null\n"


class Session:
    closed = 0
    login: Login | None = None

    async def get(self, path: str) -> Node:
        return Node(path.encode(), Stat(0, 0, 0))

    async def close(self) -> None:
        Session.closed += 1


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    async def connect(server: str, **options: Any) -> Session:
        assert server == "z:2181"
        Session.login = options["security"].login
        return Session()

    monkeypatch.setattr(zookeeper_shell.ZooKeeperSession, "connect", connect)

    def call(*words: str, typed: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        closed = Session.closed
        code = main(["z:2181", *words])
        assert Session.closed == closed + 1
        return code, *capsys.readouterr()

    return call


def test_one_command(shell: Any) -> None:
    assert shell("get", "/a") == (0, HEAD + CONNECTED + "/a\n", "")


def test_a_command_that_fails_fails_the_shell(shell: Any) -> None:
    code, out, err = shell("jump")
    assert (code, out) == (127, HEAD + CONNECTED)
    assert err.splitlines()[-1] == "Command not found: Command not found jump"
    assert shell("get", "a")[::2] == (1, "Path must start with / character\n")


def test_commands_from_standard_input(shell: Any) -> None:
    code, out, err = shell(typed="get /a\n\njump\nget '/with blank'\nget '\nhelp\nquit\nget /never\n")
    assert code == 0
    assert out.startswith(f"{HEAD}Welcome to ZooKeeper!\nJLine support is disabled\n{CONNECTED}/a\n")
    assert "/with blank" in out
    assert "Command not found jump" in err
    assert "No closing quotation" in err
    assert "ZooKeeper -server host:port cmd args" in out
    assert "/never" not in out


def test_the_end_of_standard_input_ends_the_shell(shell: Any) -> None:
    assert shell(typed="jump\nget /a\n")[0] == 0
    assert shell(typed="get /a\njump\n")[0] == 127
    assert shell(typed="jump\nquit\n")[0] == 127


def test_nobody_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise ZooKeeperUnavailable("no ZooKeeper answered at z:2181")

    monkeypatch.setattr(zookeeper_shell.ZooKeeperSession, "connect", fail)
    assert main(["z:2181", "ls", "/"]) == 1
    assert "no ZooKeeper answered" in capsys.readouterr().err


def test_a_dead_server_is_reported_in_one_line(unused_tcp_port: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DEAD, f"127.0.0.1:{unused_tcp_port}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert main([]) == 1
    assert capsys.readouterr().out.count("USAGE: zookeeper-shell.sh") == 2


def test_the_login_comes_from_kafka_opts(shell: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = "org.apache.zookeeper.server.auth.DigestLoginModule"
    file = tmp_path / "jaas.conf"
    file.write_text(f'Client {{ {module} required username="kafka" password="secret"; }};')
    monkeypatch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={file}")
    assert shell("get", "/a")[0] == 0
    assert Session.login == Login("kafka", "secret")
    tls = tmp_path / "tls.properties"
    tls.touch()
    assert shell("-zk-tls-config-file", str(tls), "get", "/a") == (0, HEAD + CONNECTED + "/a\n", "")


def test_a_bad_file_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["z:2181", "-zk-tls-config-file", str(tmp_path / "missing"), "ls", "/"]) == 1
    assert capsys.readouterr().err.startswith("zk-tls-config-file /")
    assert main(["z:2181", "-zk-tls-config-file"]) == 1
    assert "no filename provided" in capsys.readouterr().err
    monkeypatch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={tmp_path / 'missing'}")
    assert main(["z:2181", "ls", "/"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "cannot read" in line
