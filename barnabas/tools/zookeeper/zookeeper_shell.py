"""``zookeeper-shell.sh``: read and change the nodes of ZooKeeper.

The shell takes one command from the command line, or many from standard input, as ZooKeeper's own shell does.
Commands and output are those of ``org.apache.zookeeper.cli`` of ZooKeeper 3.5.9, which is part of Kafka 2.8.
The exit code is that of the last command: 0, 127 if there is no such command, 1 if the command failed. It is
also 1 if no ZooKeeper server answered. A login comes from the JAAS file that ``KAFKA_OPTS`` names.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, NoReturn

from barnabas.cluster.zk.client import errors
from barnabas.cluster.zk.client.client_settings import security_of
from barnabas.cluster.zk.client.operations import ANY_VERSION, Stat
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import znode_acls
from barnabas.tools.command_line.entry import run_tool
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.zookeeper.zookeeper_client import take_tls_file

SESSION_TIMEOUT_MS = 30_000
"""The session timeout in milliseconds, as in ZooKeeper's own shell."""

CONNECT_TIMEOUT_MS = 10_000
"""Milliseconds to wait for a connection to a server."""

NOT_FOUND_CODE = 127
"""The exit code for an unknown command."""

CONNECTED = "\nWATCHER::\n\nWatchedEvent state:SyncConnected type:None path:null"
"""The text that ZooKeeper's shell prints when it is connected."""


class CommandError(Exception):
    """The failure of a command; the text goes to standard error."""


class Command(NamedTuple):
    """A command.

    Attributes:
        run: Runs the command, and returns the lines for standard output.
        usage: The options and the arguments, of which ``[data]`` may be missing.
    """

    run: Callable[[ZooKeeperSession, Namespace], Awaitable[Sequence[str]]]
    usage: str


class _Arguments(argparse.ArgumentParser):
    """A parser that raises ``CommandError`` instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{self.prog}: {message}\n{self.format_usage().strip()}")


def _parse(words: Sequence[str]) -> Namespace:
    name, *arguments = words
    parser = _Arguments(prog=name, add_help=False, allow_abbrev=False)
    for part in COMMANDS[name].usage.split():
        if part == "[-v]":
            parser.add_argument("-v", type=int, default=ANY_VERSION, metavar="version")
        elif part.startswith("[-"):
            parser.add_argument(part.strip("[]"), action="store_true")
        elif part == "[data]":
            parser.add_argument("data", nargs="?", default="")
        else:
            parser.add_argument(part)
    return parser.parse_args(arguments)


def _stat_lines(stat: Stat) -> list[str]:
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


async def _stat(session: ZooKeeperSession, options: Namespace) -> list[str]:
    stat = await session.exists(options.path)
    if stat is None:
        raise errors.NoNode(options.path)
    return _stat_lines(stat)


async def _ls(session: ZooKeeperSession, options: Namespace) -> list[str]:
    if options.R:
        return [options.path, *await _below(session, options.path)]
    children = f"[{', '.join(sorted(await session.get_children(options.path)))}]"
    if not options.s:
        return [children]
    first, *others = await _stat(session, options)
    # ZooKeeper's shell prints the stat right behind the children, and an empty line after it.
    return [children + first, *others, ""]


async def _below(session: ZooKeeperSession, path: str) -> list[str]:
    """Return the paths below a node: its children first, then the paths below each child."""
    children = [f"{path.rstrip('/')}/{name}" for name in sorted(await session.get_children(path))]
    paths = list(children)
    for child in children:
        paths += await _below(session, child)
    return paths


async def _get(session: ZooKeeperSession, options: Namespace) -> list[str]:
    node = await session.get(options.path)
    data = node.data.decode("utf-8", errors="replace") if node.data else "null"
    return [data, *(_stat_lines(node.stat) if options.s else ())]


_PERMISSIONS = {
    znode_acls.CREATE: "c",
    znode_acls.DELETE: "d",
    znode_acls.READ: "r",
    znode_acls.WRITE: "w",
    znode_acls.ADMIN: "a",
}


async def _get_acl(session: ZooKeeperSession, options: Namespace) -> list[str]:
    lines = [
        f"'{entry.scheme},'{entry.id}\n: "
        + "".join(letter for bit, letter in _PERMISSIONS.items() if entry.permissions & bit)
        for entry in await session.get_acl(options.path)
    ]
    return [*lines, *(await _stat(session, options) if options.s else ())]


async def _set(session: ZooKeeperSession, options: Namespace) -> list[str]:
    stat = await session.set(options.path, options.data.encode(errors="surrogateescape"), options.v)
    return _stat_lines(stat) if options.s else []


async def _create(session: ZooKeeperSession, options: Namespace) -> list[str]:
    data = options.data.encode(errors="surrogateescape")
    path = await session.create(options.path, data, ephemeral=options.e, sequential=options.s)
    complain(f"Created {path}")
    return []


async def _delete(session: ZooKeeperSession, options: Namespace) -> list[str]:
    await session.delete(options.path, options.v)
    return []


async def _delete_all(session: ZooKeeperSession, options: Namespace) -> list[str]:
    if options.path == "/":
        raise CommandError("The root cannot be deleted; expected a path below it")
    for path in reversed([options.path, *await _below(session, options.path)]):
        await session.delete(path)
    return []


COMMANDS = {
    "create": Command(_create, "[-s] [-e] path [data]"),
    "delete": Command(_delete, "[-v] path"),
    "deleteall": Command(_delete_all, "path"),
    "get": Command(_get, "[-s] path"),
    "getAcl": Command(_get_acl, "[-s] path"),
    "ls": Command(_ls, "[-s] [-R] path"),
    "set": Command(_set, "[-s] [-v] path data"),
    "stat": Command(_stat, "path"),
}
"""The commands by name."""

USAGE = "\n".join(
    (
        "USAGE: zookeeper-shell.sh zookeeper_host:port[/path] [-zk-tls-config-file file] [command [args...]]",
        *(f"\t{name} {command.usage}" for name, command in COMMANDS.items()),
        "\tquit",
    )
)


async def run(session: ZooKeeperSession, words: Sequence[str]) -> Sequence[str]:
    """Run a command, and return the lines for standard output.

    Raises:
        CommandError: Its arguments are wrong, or ZooKeeper refused it.
    """
    options = _parse(words)
    if not options.path.startswith("/"):
        raise CommandError("Path must start with / character")
    try:
        return await COMMANDS[words[0]].run(session, options)
    except errors.RequestFailed as error:
        raise CommandError(f"{options.path} {error.meaning}") from error
    except errors.ZooKeeperError as error:
        raise CommandError(str(error)) from error


def say(text: str) -> None:
    """Print a line and flush it, so that the reader of a pipe sees it at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def complain(text: str) -> None:
    """Print a line to standard error."""
    sys.stderr.write(f"{text}\n")


async def run_command(session: ZooKeeperSession, words: Sequence[str]) -> int:
    """Run a command, print its output, and return the exit code."""
    if words[0] == "help":
        say(USAGE)
        return 0
    if words[0] not in COMMANDS:
        complain(f"{USAGE}\nCommand not found: Command not found {words[0]}")
        return NOT_FOUND_CODE
    try:
        for line in await run(session, words):
            say(line)
    except CommandError as error:
        complain(str(error))
        return 1
    return 0


async def run_standard_input(session: ZooKeeperSession, server: str) -> int:
    """Run commands from standard input until it ends or says ``quit``; return the last exit code."""
    number, code = 0, 0
    while True:
        if sys.stdin.isatty():
            sys.stdout.write(f"[zk: {server}(CONNECTED) {number}] ")
            sys.stdout.flush()
        line = await asyncio.to_thread(sys.stdin.readline)
        if not line:
            return code
        try:
            words = shlex.split(line)
        except ValueError as error:
            complain(f"{line.strip()}: {error}")
            continue
        if not words:
            continue
        if words[0] in {"quit", "close"}:
            return code
        code = await run_command(session, words)
        number += 1


async def serve(server: str, words: Sequence[str], tls: Mapping[str, str]) -> int:
    """Connect, run the command or those from standard input, and return the exit code.

    Args:
        server: The connect string.
        words: The command; empty to read commands from standard input.
        tls: The settings of TLS.
    """
    say(f"Connecting to {server}")
    try:
        session = await ZooKeeperSession.connect(
            server,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            on_event=lambda _: None,
            connect_timeout_ms=CONNECT_TIMEOUT_MS,
            security=security_of(tls, os.environ),
        )
    except (errors.ZooKeeperUnavailable, ValueError) as error:
        complain(str(error))
        return 1
    try:
        if words:
            say(CONNECTED)
            return await run_command(session, words)
        say(f"Welcome to ZooKeeper!\nJLine support is disabled\n{CONNECTED}")
        return await run_standard_input(session, server)
    finally:
        await session.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the shell, and return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in {"-h", "--help"}:
        say(USAGE)
        return 0 if given else 1
    # kazoo logs every attempt to connect; the shell prints one line if all of them fail.
    logging.getLogger("kazoo").setLevel(logging.CRITICAL + 1)
    server, *words = given
    try:
        tls = take_tls_file(words)
    except ToolError as error:
        complain(str(error))
        return 1
    return run_tool(lambda: asyncio.run(serve(server, words, tls)))


if __name__ == "__main__":
    sys.exit(main())
