"""The commands of ZooKeeper's shell, as far as people use them with Kafka.

Names, flags, words and where they are printed are those of ``org.apache.zookeeper.cli`` of ZooKeeper 3.5.9,
which Kafka 2.8 brings.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto
from typing import NamedTuple, NoReturn, Protocol

from barnabas.cluster.zk import errors
from barnabas.cluster.zk.operations import ANY_VERSION, Node, Stat

NOT_FOUND_CODE = 127
"""The exit code where there is no such command."""


class CommandError(Exception):
    """A command that was not carried out; its text is what is printed to standard error.

    Attributes:
        exit_code: That of a shell that was called for it.
    """

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class Said(NamedTuple):
    """What a command prints, in lines: to standard output, and before that to standard error."""

    out: Sequence[str] = ()
    err: Sequence[str] = ()


class Session(Protocol):
    """What the commands need of a ``ZooKeeperSession``."""

    async def get(self, path: str) -> Node:
        """Read a node."""
        ...

    async def exists(self, path: str) -> Stat | None:
        """A node's stat."""
        ...

    async def get_children(self, path: str) -> list[str]:
        """The names of a node's children."""
        ...

    async def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> str:
        """Create a node and return its path."""
        ...

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
        """Set a node's data."""
        ...

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Delete a node without children."""
        ...


class _Flags(argparse.ArgumentParser):
    """Flags that do not end the process; ``error`` shows how the command is called."""

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
"""How the library that ZooKeeper's shell uses words what Python's complains of."""

Carry = Callable[[Session, argparse.Namespace], Awaitable[Said]]


class Data(Enum):
    """Whether a command takes data behind its path."""

    NONE = auto()
    OPTIONAL = auto()
    NEEDED = auto()


@dataclass(frozen=True, slots=True)
class Command:
    """A command.

    Attributes:
        usage: How it is called.
        flags: Reads its arguments.
        carry_out: Does it; the answer is what to print.
    """

    usage: str
    flags: _Flags
    carry_out: Carry


async def run(session: Session, words: Sequence[str]) -> Said:
    """Carry a command out; what to print.

    Raises:
        CommandError: There is no such command, or ZooKeeper refused.
    """
    command = COMMANDS.get(words[0])
    if command is None:
        missing = f"Command not found: Command not found {words[0]}"
        raise CommandError(f"{usage()}\n{missing}", NOT_FOUND_CODE)
    options = command.flags.parse_args(list(words[1:]))
    _check_path(options.path)
    try:
        return await command.carry_out(session, options)
    except errors.ZooKeeperError as error:
        raise CommandError(_words(error, options.path)) from error


def usage() -> str:
    """The commands there are."""
    lines = "\n".join(f"\t{command.usage}" for _, command in sorted(COMMANDS.items()))
    return f"ZooKeeper -server host:port cmd args\n{lines}\n\tquit"


def _check_path(path: str) -> None:
    """Refuse what no node can be called (``PathUtils.validatePath``)."""
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


def _words(error: errors.ZooKeeperError, path: str) -> str:
    """A refusal as ZooKeeper's shell words it."""
    for kind, text in (
        (errors.NoNode, f"Node does not exist: {path}"),
        (errors.NodeExists, f"Node already exists: {path}"),
        (errors.NotEmpty, f"Node not empty: {path}"),
        (errors.BadVersion, f"version No is not valid : {path}"),
    ):
        if isinstance(error, kind):
            return text
    return str(error)


def stat_lines(stat: Stat) -> list[str]:
    """A node's stat, a line for each field."""
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


async def _ls(session: Session, options: argparse.Namespace) -> Said:
    if options.R:
        return Said([options.path, *await _below(session, options.path)])
    children = await _children(session, options.path)
    if not options.s:
        return Said([children])
    first, *others = stat_lines(await _stat(session, options.path))
    # Nothing stands between the two there, and an empty line behind them.
    return Said([children + first, *others, ""])


async def _ls2(session: Session, options: argparse.Namespace) -> Said:
    children = await _children(session, options.path)
    return Said(
        [children, *stat_lines(await _stat(session, options.path))],
        ["'ls2' has been deprecated. Please use 'ls [-s] path' instead."],
    )


async def _children(session: Session, path: str) -> str:
    return f"[{', '.join(sorted(await session.get_children(path)))}]"


async def _below(session: Session, path: str) -> list[str]:
    """All below a node: its children, then all below each of them."""
    children = [f"{path.rstrip('/')}/{name}" for name in sorted(await session.get_children(path))]
    paths = list(children)
    for child in children:
        paths += await _below(session, child)
    return paths


async def _get(session: Session, options: argparse.Namespace) -> Said:
    node = await session.get(options.path)
    data = node.data.decode("utf-8", errors="replace") if node.data else "null"
    return Said([data, *(stat_lines(node.stat) if options.s else ())])


async def _print_stat(session: Session, options: argparse.Namespace) -> Said:
    return Said(stat_lines(await _stat(session, options.path)))


async def _set(session: Session, options: argparse.Namespace) -> Said:
    stat = await session.set(options.path, options.data.encode(errors="surrogateescape"), options.v)
    return Said(stat_lines(stat) if options.s else ())


async def _create(session: Session, options: argparse.Namespace) -> Said:
    data = options.data.encode(errors="surrogateescape")
    path = await session.create(options.path, data, ephemeral=options.e, sequential=options.s)
    return Said(err=[f"Created {path}"])


async def _delete(session: Session, options: argparse.Namespace) -> Said:
    await session.delete(options.path, options.v)
    return Said()


async def _delete_all(session: Session, options: argparse.Namespace) -> Said:
    if options.path == "/":
        raise CommandError("The root cannot be deleted; expected a path below it")
    for path in reversed([options.path, *await _below(session, options.path)]):
        await session.delete(path)
    return Said()


async def _rmr(session: Session, options: argparse.Namespace) -> Said:
    await _delete_all(session, options)
    return Said(err=["The command 'rmr' has been deprecated. Please use 'deleteall' instead."])


def _command(usage: str, carry_out: Carry, *switches: str, data: Data = Data.NONE) -> Command:
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
    return Command(usage, flags, carry_out)


COMMANDS = {
    "create": _command("create [-s] [-e] path [data]", _create, "-s", "-e", data=Data.OPTIONAL),
    "delete": _command("delete [-v version] path", _delete, "-v"),
    "deleteall": _command("deleteall path", _delete_all),
    "get": _command("get [-s] path", _get, "-s"),
    "ls": _command("ls [-s] [-R] path", _ls, "-s", "-R"),
    "ls2": _command("ls2 path", _ls2),
    "rmr": _command("rmr path", _rmr),
    "set": _command("set [-s] [-v version] path data", _set, "-s", "-v", data=Data.NEEDED),
    "stat": _command("stat path", _print_stat),
}
"""Every command by its name."""
