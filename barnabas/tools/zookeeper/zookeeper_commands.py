"""The commands of ZooKeeper's shell that people use with Kafka.

Names, flags, texts and output streams are those of ``org.apache.zookeeper.cli`` of ZooKeeper 3.5.9, which is
part of Kafka 2.8.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto
from typing import NamedTuple, NoReturn, Protocol

from barnabas.cluster.zk.client import errors
from barnabas.cluster.zk.client.operations import ANY_VERSION, Node, Stat
from barnabas.cluster.zk.schema import znode_acls
from barnabas.cluster.zk.schema.znode_acls import ZnodeAcl

NOT_FOUND_CODE = 127
"""The exit code for an unknown command."""


class CommandError(Exception):
    """The failure of a command; the text goes to standard error.

    Attributes:
        exit_code: The exit code of a shell that runs only this command.
    """

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Output(NamedTuple):
    """The lines that a command prints. Those for standard error come first."""

    out: Sequence[str] = ()
    err: Sequence[str] = ()


class Session(Protocol):
    """The part of a ``ZooKeeperSession`` that the commands use."""

    async def get(self, path: str) -> Node:
        """Read a node."""
        ...

    async def exists(self, path: str) -> Stat | None:
        """Return a node's stat; None if there is no such node."""
        ...

    async def get_children(self, path: str) -> list[str]:
        """Return the names of a node's children."""
        ...

    async def get_acl(self, path: str) -> tuple[ZnodeAcl, ...]:
        """Return a node's ACL."""
        ...

    async def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> str:
        """Create a node and return its path."""
        ...

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
        """Replace a node's data."""
        ...

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Delete a node without children."""
        ...


class _Flags(argparse.ArgumentParser):
    """A parser that raises ``CommandError`` with the command's usage instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        for pattern, words in _COMPLAINTS:
            found = re.match(pattern, message)
            if found:
                raise CommandError(words.format(*found.groups(), usage=self.usage))
        raise CommandError(f"{message}\n{self.usage}")


_CLI = "org.apache.commons.cli"

_COMPLAINTS = (
    ("unrecognized arguments: (-[^ ]+)", f"{_CLI}.UnrecognizedOptionException: Unrecognized option: {{}}"),
    ("argument -(.): expected one", f"{_CLI}.MissingArgumentException: Missing argument for option: {{}}"),
    ("the following arguments are required|unrecognized arguments", "{usage}"),
)
"""The messages of argparse as patterns, with those of Commons CLI (which ZooKeeper's shell uses) instead."""

Run = Callable[[Session, argparse.Namespace], Awaitable[Output]]


class Data(Enum):
    """The need of a command for data after its path."""

    NONE = auto()
    OPTIONAL = auto()
    NEEDED = auto()


@dataclass(frozen=True, slots=True)
class Command:
    """A command.

    Attributes:
        usage: The usage line.
        flags: The parser of the arguments.
        run: The function that runs the command and returns its output.
    """

    usage: str
    flags: _Flags
    run: Run


async def run(session: Session, words: Sequence[str]) -> Output:
    """Run a command and return its output.

    Raises:
        CommandError: There is no such command, its arguments are wrong, or ZooKeeper refused it.
    """
    command = COMMANDS.get(words[0])
    if command is None:
        missing = f"Command not found: Command not found {words[0]}"
        raise CommandError(f"{usage()}\n{missing}", NOT_FOUND_CODE)
    options = command.flags.parse_args(list(words[1:]))
    _check_path(options.path)
    try:
        return await command.run(session, options)
    except errors.ZooKeeperError as error:
        raise CommandError(_message(error, options.path)) from error


def usage() -> str:
    """Return the help text, which lists all commands."""
    lines = "\n".join(f"\t{command.usage}" for _, command in sorted(COMMANDS.items()))
    return f"ZooKeeper -server host:port cmd args\n{lines}\n\tquit"


def _check_path(path: str) -> None:
    """Raise ``CommandError`` if ``path`` cannot name a node (``PathUtils.validatePath``)."""
    if not path:
        raise CommandError("Path length must be > 0")
    if not path.startswith("/"):
        raise CommandError("Path must start with / character")
    if path != "/" and path.endswith("/"):
        raise CommandError("Path must not end with / character")
    found = re.search(r"(?<=/)(?P<empty>/)|(?<=/)(?P<relative>\.\.?)(?=/|$)", path)
    if found:
        reason = "empty node name specified" if found["empty"] else "relative paths not allowed"
        raise CommandError(f'Invalid path string "{path}" caused by {reason} @{found.end() - 1}')


def _message(error: errors.ZooKeeperError, path: str) -> str:
    """Return the message of ZooKeeper's shell for an error."""
    for kind, text in (
        (errors.NoNode, f"Node does not exist: {path}"),
        (errors.NodeExists, f"Node already exists: {path}"),
        (errors.NotEmpty, f"Node not empty: {path}"),
        (errors.BadVersion, f"version No is not valid : {path}"),
        (errors.NoAuth, f"Authentication is not valid : {path}"),
    ):
        if isinstance(error, kind):
            return text
    return str(error)


def stat_lines(stat: Stat) -> list[str]:
    """Return a node's stat, one line per field."""
    return [
        f"cZxid = {stat.czxid:#x}",
        f"ctime = {_date(stat.ctime_ms)}",
        f"mZxid = {stat.mzxid:#x}",
        f"mtime = {_date(stat.mtime_ms)}",
        f"pZxid = {stat.pzxid:#x}",
        f"cversion = {stat.cversion}",
        f"dataVersion = {stat.version}",
        f"aclVersion = {stat.acl_version}",
        f"ephemeralOwner = {stat.ephemeral_owner:#x}",
        f"dataLength = {stat.data_length}",
        f"numChildren = {stat.children}",
    ]


def _date(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")


async def _stat(session: Session, path: str) -> Stat:
    stat = await session.exists(path)
    if stat is None:
        raise CommandError(f"Node does not exist: {path}")
    return stat


async def _ls(session: Session, options: argparse.Namespace) -> Output:
    if options.R:
        return Output([options.path, *await _below(session, options.path)])
    children = await _children(session, options.path)
    if not options.s:
        return Output([children])
    first, *others = stat_lines(await _stat(session, options.path))
    # ZooKeeper's shell prints the stat right behind the children, and an empty line after it.
    return Output([children + first, *others, ""])


async def _ls2(session: Session, options: argparse.Namespace) -> Output:
    children = await _children(session, options.path)
    return Output(
        [children, *stat_lines(await _stat(session, options.path))],
        ["'ls2' has been deprecated. Please use 'ls [-s] path' instead."],
    )


async def _children(session: Session, path: str) -> str:
    return f"[{', '.join(sorted(await session.get_children(path)))}]"


async def _below(session: Session, path: str) -> list[str]:
    """Return the paths below a node: its children first, then the paths below each child."""
    children = [f"{path.rstrip('/')}/{name}" for name in sorted(await session.get_children(path))]
    paths = list(children)
    for child in children:
        paths += await _below(session, child)
    return paths


async def _get(session: Session, options: argparse.Namespace) -> Output:
    node = await session.get(options.path)
    data = node.data.decode("utf-8", errors="replace") if node.data else "null"
    return Output([data, *(stat_lines(node.stat) if options.s else ())])


_PERMISSIONS = (
    (znode_acls.CREATE, "c"),
    (znode_acls.DELETE, "d"),
    (znode_acls.READ, "r"),
    (znode_acls.WRITE, "w"),
    (znode_acls.ADMIN, "a"),
)


async def _get_acl(session: Session, options: argparse.Namespace) -> Output:
    acl = await session.get_acl(options.path)
    lines = [
        f"'{entry.scheme},'{entry.id}\n: {''.join(c for bit, c in _PERMISSIONS if entry.permissions & bit)}"
        for entry in acl
    ]
    return Output([*lines, *(stat_lines(await _stat(session, options.path)) if options.s else ())])


async def _print_stat(session: Session, options: argparse.Namespace) -> Output:
    return Output(stat_lines(await _stat(session, options.path)))


async def _set(session: Session, options: argparse.Namespace) -> Output:
    stat = await session.set(options.path, options.data.encode(errors="surrogateescape"), options.v)
    return Output(stat_lines(stat) if options.s else ())


async def _create(session: Session, options: argparse.Namespace) -> Output:
    data = options.data.encode(errors="surrogateescape")
    path = await session.create(options.path, data, ephemeral=options.e, sequential=options.s)
    return Output(err=[f"Created {path}"])


async def _delete(session: Session, options: argparse.Namespace) -> Output:
    await session.delete(options.path, options.v)
    return Output()


async def _delete_all(session: Session, options: argparse.Namespace) -> Output:
    if options.path == "/":
        raise CommandError("The root cannot be deleted; expected a path below it")
    for path in reversed([options.path, *await _below(session, options.path)]):
        await session.delete(path)
    return Output()


async def _rmr(session: Session, options: argparse.Namespace) -> Output:
    await _delete_all(session, options)
    return Output(err=["The command 'rmr' has been deprecated. Please use 'deleteall' instead."])


def _command(usage: str, run: Run, *switches: str, data: Data = Data.NONE) -> Command:
    name, _, _ = usage.partition(" ")
    flags = _Flags(prog=name, usage=usage, add_help=False, allow_abbrev=False)
    for switch in switches:
        if switch == "-v":
            flags.add_argument("-v", type=int, default=ANY_VERSION, metavar="version")
        else:
            flags.add_argument(switch, action="store_true")
    flags.add_argument("path")
    if data is Data.NEEDED:
        flags.add_argument("data")
    elif data is Data.OPTIONAL:
        flags.add_argument("data", nargs="?", default="")
    return Command(usage, flags, run)


COMMANDS = {
    "create": _command("create [-s] [-e] path [data]", _create, "-s", "-e", data=Data.OPTIONAL),
    "delete": _command("delete [-v version] path", _delete, "-v"),
    "deleteall": _command("deleteall path", _delete_all),
    "get": _command("get [-s] path", _get, "-s"),
    "getAcl": _command("getAcl [-s] path", _get_acl, "-s"),
    "ls": _command("ls [-s] [-R] path", _ls, "-s", "-R"),
    "ls2": _command("ls2 path", _ls2),
    "rmr": _command("rmr path", _rmr),
    "set": _command("set [-s] [-v version] path data", _set, "-s", "-v", data=Data.NEEDED),
    "stat": _command("stat path", _print_stat),
}
"""The commands by name."""
