"""``zookeeper-shell.sh``: read and change the nodes of ZooKeeper.

The shell takes one command from the command line, or many from standard input, as ZooKeeper's own shell does.
The exit code is that of the last command: 0, 127 if there is no such command, 1 if the command failed. It is
also 1 if no ZooKeeper server answered. A login comes from the JAAS file that ``KAFKA_OPTS`` names.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import sys
from collections.abc import Mapping, Sequence

from barnabas.cluster.zk.client.client_settings import security_of
from barnabas.cluster.zk.client.errors import ZooKeeperUnavailable
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.tools.command_line.entry import run_tool
from barnabas.tools.zookeeper.zookeeper_client import ZooKeeperClientError, take_tls_file
from barnabas.tools.zookeeper.zookeeper_commands import CommandError, run, usage

SESSION_TIMEOUT_MS = 30_000
"""The session timeout in milliseconds, as in ZooKeeper's own shell."""

CONNECT_TIMEOUT_MS = 10_000
"""Milliseconds to wait for a connection to a server."""

USAGE = "USAGE: zookeeper-shell.sh zookeeper_host:port[/path] [-zk-tls-config-file file] [command [args...]]"

CONNECTED = "\nWATCHER::\n\nWatchedEvent state:SyncConnected type:None path:null"
"""The text that ZooKeeper's shell prints when it is connected."""


def say(text: str) -> None:
    """Print a line and flush it, so that the reader of a pipe sees it at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def complain(text: str) -> None:
    """Print a line to standard error."""
    sys.stderr.write(f"{text}\n")


async def run_command(session: ZooKeeperSession, words: Sequence[str]) -> int:
    """Run one command, print its output, and return the exit code."""
    if words[0] in {"help", "?"}:
        say(usage())
        return 0
    try:
        output = await run(session, words)
    except CommandError as error:
        complain(str(error))
        return error.exit_code
    for line in output.err:
        complain(line)
    for line in output.out:
        say(line)
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


async def serve(server: str, words: Sequence[str], given: Mapping[str, str]) -> int:
    """Connect, run the command or those from standard input, and return the exit code.

    Args:
        server: The connect string.
        words: The command; empty to read commands from standard input.
        given: The settings of TLS that were given.
    """
    say(f"Connecting to {server}")
    try:
        session = await ZooKeeperSession.connect(
            server,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            on_event=lambda _: None,
            connect_timeout_ms=CONNECT_TIMEOUT_MS,
            security=security_of(given, os.environ),
        )
    except (ZooKeeperUnavailable, ValueError) as error:
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
        sys.stdout.write(f"{USAGE}\n{usage()}\n")
        return 0 if given else 1
    # kazoo logs every attempt to connect; the shell prints one line if all of them fail.
    logging.getLogger("kazoo").setLevel(logging.CRITICAL + 1)
    server, *words = given
    try:
        settings = take_tls_file(words)
    except ZooKeeperClientError as error:
        complain(str(error))
        return 1
    return asyncio.run(serve(server, words, settings))


def command() -> int:
    """Run the tool as a program, and return its exit code."""
    return run_tool(main)


if __name__ == "__main__":
    sys.exit(command())
