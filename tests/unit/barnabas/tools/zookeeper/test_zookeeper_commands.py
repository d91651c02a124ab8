from __future__ import annotations

from typing import Any

import pytest

from barnabas.cluster.zk.client.errors import (
    BadVersion,
    NoAuth,
    NodeExists,
    NoNode,
    NotEmpty,
    ZooKeeperTimeout,
)
from barnabas.cluster.zk.client.operations import Node, Stat
from barnabas.cluster.zk.schema.znode_acls import READABLE, ZnodeAcl
from barnabas.tools.zookeeper.zookeeper_commands import COMMANDS, CommandError, run, stat_lines, usage

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
STAT_LINES = [
    "cZxid = 0x18",
    "ctime = Fri Nov 13 12:00:00 UTC 2020",
    "mZxid = 0x19",
    "mtime = Fri Nov 13 12:00:01 UTC 2020",
    "pZxid = 0x1a",
    "cversion = 4",
    "dataVersion = 3",
    "aclVersion = 5",
    "ephemeralOwner = 0x1000",
    "dataLength = 6",
    "numChildren = 7",
]


class Session:
    """A tree in memory; every change is taken down."""

    def __init__(self) -> None:
        self.nodes = {"/": b"", "/a": b"x", "/a/c": b"", "/a/b": b"", "/a/b/d": b""}
        self.done: list[Any] = []
        self.error: Exception | None = None

    async def get(self, path: str) -> Node:
        if path not in self.nodes:
            raise NoNode(path)
        return Node(self.nodes[path], STAT)

    async def exists(self, path: str) -> Stat | None:
        return STAT if path in self.nodes else None

    async def get_acl(self, path: str) -> tuple[ZnodeAcl, ...]:
        if self.error is not None:
            raise self.error
        await self.get(path)
        return READABLE

    async def get_children(self, path: str) -> list[str]:
        await self.get(path)
        prefix = path.rstrip("/") + "/"
        below = [other[len(prefix) :] for other in self.nodes if other.startswith(prefix) and other != "/"]
        return [name for name in below if "/" not in name]

    async def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> str:
        if path in self.nodes:
            raise NodeExists(path)
        self.done.append((path, data, ephemeral, sequential))
        return path + ("0000000001" if sequential else "")

    async def set(self, path: str, data: bytes, version: int = -1) -> Stat:
        if version not in (-1, 3):
            raise BadVersion(path)
        self.done.append((path, data))
        return STAT

    async def delete(self, path: str, version: int = -1) -> None:
        if await self.get_children(path):
            raise NotEmpty(path)
        del self.nodes[path]


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("ls /a", ["[b, c]"]),
        ("ls /", ["[a]"]),
        ("ls -s /a", [f"[b, c]{STAT_LINES[0]}", *STAT_LINES[1:], ""]),
        ("ls -R /a", ["/a", "/a/b", "/a/c", "/a/b/d"]),
        ("get /a", ["x"]),
        ("get /a/b", ["null"]),
        ("get -s /a", ["x", *STAT_LINES]),
        ("stat /a", STAT_LINES),
        ("set /a y", []),
        ("set -s -v 3 /a y", STAT_LINES),
        ("delete /a/c", []),
        ("deleteall /a", []),
    ],
)
async def test_what_is_printed(session: Session, line: str, printed: list[str]) -> None:
    said = await run(session, line.split())
    assert (list(said.out), said.err) == (printed, ())


@pytest.mark.parametrize(
    ("line", "out", "err"),
    [
        ("create /e", (), "Created /e"),
        ("create -s -e /e- data", (), "Created /e-0000000001"),
        ("ls2 /a", ["[b, c]", *STAT_LINES], "'ls2' has been deprecated. Please use 'ls [-s] path' instead."),
        ("rmr /a", (), "The command 'rmr' has been deprecated. Please use 'deleteall' instead."),
    ],
)
async def test_what_is_printed_to_standard_error(session: Session, line: str, out: Any, err: str) -> None:
    assert await run(session, line.split()) == (out, [err])


async def test_what_is_done(session: Session) -> None:
    await run(session, ["create", "-e", "/e", '{"a": 1}'])
    await run(session, ["set", "/a", "y"])
    assert session.done == [("/e", b'{"a": 1}', True, False), ("/a", b"y")]
    await run(session, ["deleteall", "/a"])
    assert list(session.nodes) == ["/"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("get a", "Path must start with / character"),
        ("get /a/", "Path must not end with / character"),
        ("get //a", 'Invalid path string "//a" caused by empty node name specified @1'),
        ("get /a/../a", 'Invalid path string "/a/../a" caused by relative paths not allowed @4'),
        ("get /a/.", 'Invalid path string "/a/." caused by relative paths not allowed @3'),
        ("get /x", "Node does not exist: /x"),
        ("stat /x", "Node does not exist: /x"),
        ("ls -s /x", "Node does not exist: /x"),
        ("create /a", "Node already exists: /a"),
        ("delete /a", "Node not empty: /a"),
        ("set -v 9 /a y", "version No is not valid : /a"),
        ("deleteall /", "The root cannot be deleted; expected a path below it"),
        ("set /a", "set [-s] [-v version] path data"),
        ("get", "get [-s] path"),
        ("get /a b", "get [-s] path"),
        ("get -x /a", "org.apache.commons.cli.UnrecognizedOptionException: Unrecognized option: -x"),
        ("delete -v", "org.apache.commons.cli.MissingArgumentException: Missing argument for option: v"),
        ("delete -v one /a", "argument -v: invalid int value: 'one'\ndelete [-v version] path"),
    ],
)
async def test_complaints(session: Session, line: str, complaint: str) -> None:
    with pytest.raises(CommandError) as caught:
        await run(session, line.split())
    assert (str(caught.value), caught.value.exit_code) == (complaint, 1)


async def test_a_command_that_is_none_brings_the_others(session: Session) -> None:
    with pytest.raises(CommandError) as caught:
        await run(session, ["jump", "/a"])
    *others, complaint = str(caught.value).splitlines()
    assert others == usage().splitlines()
    assert (complaint, caught.value.exit_code) == ("Command not found: Command not found jump", 127)


async def test_an_empty_path_is_none(session: Session) -> None:
    with pytest.raises(CommandError, match="Path length must be > 0"):
        await run(session, ["get", ""])


async def test_other_failures_keep_their_words(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_path: str) -> Node:
        raise ZooKeeperTimeout("no answer within 30 s")

    monkeypatch.setattr(session, "get", fail)
    with pytest.raises(CommandError, match="no answer within 30 s"):
        await run(session, ["get", "/a"])


def test_every_command_says_how_it_is_called() -> None:
    assert all(command.usage.split()[0] == name for name, command in COMMANDS.items())
    assert stat_lines(STAT) == STAT_LINES


async def test_an_acl_is_printed_as_java_prints_it() -> None:
    session = Session()
    lines = ["'auth,'\n: cdrwa", "'world,'anyone\n: r"]
    assert (await run(session, ["getAcl", "/a"])).out == lines
    assert (await run(session, ["getAcl", "-s", "/a"])).out == [*lines, *STAT_LINES]
    session.error = NoAuth("/a")
    with pytest.raises(CommandError, match="Authentication is not valid : /a"):
        await run(session, ["getAcl", "/a"])
