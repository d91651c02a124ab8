from __future__ import annotations

import io
import subprocess
import sys
from argparse import Namespace

import pytest

from barnabas.cluster.zk.client.errors import NodeExists, NoNode, NotEmpty, ZooKeeperUnavailable
from barnabas.cluster.zk.client.operations import Node, Stat
from barnabas.cluster.zk.client.security import Login
from barnabas.cluster.zk.schema.znode_acls import READABLE
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
STAT = Stat(
    version=3,
    czxid=0x18,
    mzxid=0x19,
    ephemeral_owner=0x1000,
    pzxid=0x1A,
    ctime_ms=1_605_268_800_000,
    mtime_ms=1_605_268_801_000,
    cversion=4,
    acl_version=5,
    data_length=6,
    children=7,
)
STAT_LINES = """\
cZxid = 0x18
ctime = Fri Nov 13 12:00:00 UTC 2020
mZxid = 0x19
mtime = Fri Nov 13 12:00:01 UTC 2020
pZxid = 0x1a
cversion = 4
dataVersion = 3
aclVersion = 5
ephemeralOwner = 0x1000
dataLength = 6
numChildren = 7
"""


class Session:
    """A tree in memory; every change is kept in ``done``."""

    def __init__(self):
        self.nodes = {"/": b"", "/a": b"x", "/a/c": b"", "/a/b": b"", "/a/b/d": b""}
        self.done = []
        self.is_closed = False

    async def close(self):
        self.is_closed = True

    async def get(self, path):
        if path not in self.nodes:
            raise NoNode(path)
        return Node(self.nodes[path], STAT)

    async def exists(self, path):
        return STAT if path in self.nodes else None

    async def get_acl(self, path):
        await self.get(path)
        return READABLE

    async def get_children(self, path):
        await self.get(path)
        prefix = path.rstrip("/") + "/"
        below = [other[len(prefix) :] for other in self.nodes if other.startswith(prefix) and other != "/"]
        return [name for name in below if "/" not in name]

    async def create(self, path, data=b"", *, ephemeral=False, sequential=False):
        if path in self.nodes:
            raise NodeExists(path)
        self.done.append((path, data, ephemeral, sequential))
        return path + ("0000000001" if sequential else "")

    async def set(self, path, data, version=-1):
        self.done.append((path, data, version))
        return STAT

    async def delete(self, path, version=-1):
        if await self.get_children(path):
            raise NotEmpty(path)
        del self.nodes[path]
        self.done.append((path, version))


@pytest.fixture
def shell(monkeypatch, capsys):
    """Runs the shell: on ``shell.session``, with ``shell.login`` as the login."""
    state = Namespace(session=Session(), login=None)

    async def connect(server, **options):
        assert server == "z:2181"
        state.login = options["security"].login
        return state.session

    monkeypatch.setattr(zookeeper_shell.ZooKeeperSession, "connect", connect)

    def call(*words, typed=""):
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        code = main(["z:2181", *words])
        assert state.session.is_closed
        out, err = capsys.readouterr()
        return code, out.removeprefix(HEAD).removeprefix(CONNECTED), err

    call.state = state
    return call


@pytest.mark.parametrize(
    ("line", "out", "err", "done"),
    [
        ("ls /a", "[b, c]\n", "", []),
        ("ls /", "[a]\n", "", []),
        ("ls -s /a", f"[b, c]{STAT_LINES}\n", "", []),
        ("ls -R /a", "/a\n/a/b\n/a/c\n/a/b/d\n", "", []),
        ("get /a", "x\n", "", []),
        ("get /a/b", "null\n", "", []),
        ("get -s /a", f"x\n{STAT_LINES}", "", []),
        ("getAcl /a", "'auth,'\n: cdrwa\n'world,'anyone\n: r\n", "", []),
        ("getAcl -s /a", f"'auth,'\n: cdrwa\n'world,'anyone\n: r\n{STAT_LINES}", "", []),
        ("stat /a", STAT_LINES, "", []),
        ("set /a y", "", "", [("/a", b"y", -1)]),
        ("set -s -v 3 /a y", STAT_LINES, "", [("/a", b"y", 3)]),
        ("create -s -e /e- data", "", "Created /e-0000000001\n", [("/e-", b"data", True, True)]),
        ("create /e", "", "Created /e\n", [("/e", b"", False, False)]),
        ("delete -v 3 /a/c", "", "", [("/a/c", 3)]),
        ("deleteall /a/b", "", "", [("/a/b/d", -1), ("/a/b", -1)]),
    ],
)
def test_a_command_prints_what_zookeepers_shell_does(shell, line, out, err, done):
    assert shell(*line.split()) == (0, out, err)
    assert shell.state.session.done == done


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("get a", "Path must start with / character"),
        ("get /x", "/x"),
        ("stat /x", "/x"),
        ("ls -s /x", "/x"),
        ("create /a", "/a"),
        ("delete /a", "/a"),
        ("deleteall /", "The root cannot be deleted; expected a path below it"),
        ("set /a", "required: data\nusage: set [-s] [-v version] path data"),
        ("get", "required: path\nusage: get [-s] path"),
        ("get -x /a", "unrecognized arguments: -x\nusage: get [-s] path"),
        ("delete -v one /a", "invalid int value: 'one'\nusage: delete [-v version] path"),
    ],
)
def test_a_command_that_fails_fails_the_shell(shell, line, message):
    code, out, err = shell(*line.split())
    assert (code, out) == (1, "")
    assert message in err


def test_a_command_that_is_none_brings_the_others(shell):
    code, out, err = shell("jump")
    assert (code, out) == (127, "")
    assert "\tget [-s] path\n" in err
    assert err.splitlines()[-1] == "Command not found: Command not found jump"


def test_commands_from_standard_input(shell):
    code, out, err = shell(typed="get /a\n\njump\nstat '/with blank'\nget '\nhelp\nquit\nget /a\n")
    assert code == 0
    assert out.startswith(f"Welcome to ZooKeeper!\nJLine support is disabled\n{CONNECTED}x\n")
    assert out.count("x\n") == 1
    assert "/with blank" in err
    assert "No closing quotation" in err
    assert "USAGE: zookeeper-shell.sh" in out


@pytest.mark.parametrize(
    ("typed", "code"), [("jump\nget /a\n", 0), ("get /a\njump\n", 127), ("jump\nquit\n", 127)]
)
def test_the_exit_code_is_that_of_the_last_command(shell, typed, code):
    assert shell(typed=typed)[0] == code


def test_nobody_there(monkeypatch, capsys):
    async def fail(*_, **__):
        raise ZooKeeperUnavailable("no ZooKeeper answered at z:2181")

    monkeypatch.setattr(zookeeper_shell.ZooKeeperSession, "connect", fail)
    assert main(["z:2181", "ls", "/"]) == 1
    assert "no ZooKeeper answered" in capsys.readouterr().err


def test_a_dead_server_is_reported_in_one_line(unused_tcp_port):
    done = subprocess.run(
        [sys.executable, "-c", DEAD, f"127.0.0.1:{unused_tcp_port}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


def test_usage(capsys):
    assert main(["--help"]) == 0
    assert main([]) == 1
    assert capsys.readouterr().out.count("USAGE: zookeeper-shell.sh") == 2


def test_the_login_comes_from_kafka_opts(shell, monkeypatch, tmp_path):
    module = "org.apache.zookeeper.server.auth.DigestLoginModule"
    file = tmp_path / "jaas.conf"
    file.write_text(f'Client {{ {module} required username="kafka" password="secret"; }};')
    monkeypatch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={file}")
    tls = tmp_path / "tls.properties"
    tls.touch()
    assert shell("-zk-tls-config-file", str(tls), "get", "/a") == (0, "x\n", "")
    assert shell.state.login == Login("kafka", "secret")


def test_a_bad_file_is_one_line(monkeypatch, capsys, tmp_path):
    assert main(["z:2181", "-zk-tls-config-file", str(tmp_path / "missing"), "ls", "/"]) == 1
    assert capsys.readouterr().err.startswith("--zk-tls-config-file /")
    assert main(["z:2181", "-zk-tls-config-file"]) == 1
    assert "no filename provided" in capsys.readouterr().err
    monkeypatch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={tmp_path / 'missing'}")
    assert main(["z:2181", "ls", "/"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "cannot read" in line
