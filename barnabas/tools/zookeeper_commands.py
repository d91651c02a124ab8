"""The commands of ZooKeeper's shell, as far as people use them with Kafka.

Names, flags and words are those of ``org.apache.zookeeper.cli`` of ZooKeeper 3.5, which Kafka 2.8 brings.
"""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto
from typing import NoReturn, Protocol

from cluster.zk import errors
from cluster.zk.operations import ANY_VERSION, Node, Stat


class CommandError(Exception):
    """A command that was not carried out; its text is what is printed."""


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
        raise CommandError(f"{message}\n{self.usage}")


Carry = Callable[[Session, argparse.Namespace], Awaitable[list[str]]]


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
        carry_out: Does it; the answer is the lines to print.
    """

    usage: str
    flags: _Flags
    carry_out: Carry


async def run(session: Session, words: Sequence[str]) -> list[str]:
    """Carry a command out; the lines to print.

    Raises:
        CommandError: There is no such command, or ZooKeeper refused.
    """
    command = COMMANDS.get(words[0])
    if command is None:
        raise CommandError(f"Command not found: Command not found {words[0]}")
    options = command.flags.parse_args(list(words[1:]))
    path: str = options.path
    if not path.startswith("/"):
        raise CommandError(f"Path must start with / character: {path}")
    if path != "/" and path.endswith("/"):
        raise CommandError(f"Path must not end with / character: {path}")
    try:
        return await command.carry_out(session, options)
    except errors.ZooKeeperError as error:
        raise CommandError(_words(error, path)) from error


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


async def _ls(session: Session, options: argparse.Namespace) -> list[str]:
    if options.R:
        return await _subtree(session, options.path)
    lines = [f"[{', '.join(sorted(await session.get_children(options.path)))}]"]
    return lines + (stat_lines(await _stat(session, options.path)) if options.s else [])


async def _subtree(session: Session, path: str) -> list[str]:
    """A node and all below it, each parent before its children."""
    paths = [path]
    for name in sorted(await session.get_children(path)):
        paths += await _subtree(session, f"{path.rstrip('/')}/{name}")
    return paths


async def _get(session: Session, options: argparse.Namespace) -> list[str]:
    node = await session.get(options.path)
    data = node.data.decode("utf-8", errors="replace") if node.data else "null"
    return [data, *(stat_lines(node.stat) if options.s else ())]


async def _print_stat(session: Session, options: argparse.Namespace) -> list[str]:
    return stat_lines(await _stat(session, options.path))


async def _set(session: Session, options: argparse.Namespace) -> list[str]:
    stat = await session.set(options.path, options.data.encode(), options.v)
    return stat_lines(stat) if options.s else []


async def _create(session: Session, options: argparse.Namespace) -> list[str]:
    data = options.data.encode()
    return [f"Created {await session.create(options.path, data, ephemeral=options.e, sequential=options.s)}"]


async def _delete(session: Session, options: argparse.Namespace) -> list[str]:
    await session.delete(options.path, options.v)
    return []


async def _delete_all(session: Session, options: argparse.Namespace) -> list[str]:
    if options.path == "/":
        raise CommandError("The root cannot be deleted; expected a path below it")
    for path in reversed(await _subtree(session, options.path)):
        await session.delete(path)
    return []


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
    "set": _command("set [-s] [-v version] path data", _set, "-s", "-v", data=Data.NEEDED),
    "stat": _command("stat path", _print_stat),
}
"""Every command by its name."""
