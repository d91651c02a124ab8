"""``zookeeper-shell.sh``: look at and change what stands in ZooKeeper.

Takes one command from the command line, or many from standard input, as ZooKeeper's own shell does. The exit
code is that of the last command: 0, or 127 where there is none of its name, or 1 where it was not carried
out; 1 too where no ZooKeeper answered.
"""

from __future__ import annotations

import asyncio
import logging
import shlex
import sys
from collections.abc import Sequence

from barnabas.cluster.zk.errors import ZooKeeperUnavailable
from barnabas.cluster.zk.session import ZooKeeperSession
from barnabas.tools.entry import run_tool
from barnabas.tools.zookeeper_commands import CommandError, run, usage

SESSION_TIMEOUT_MS = 30_000
"""As in ZooKeeper's own shell."""

CONNECT_TIMEOUT_MS = 10_000
"""How long to wait for a server."""

USAGE = "USAGE: zookeeper-shell.sh zookeeper_host:port[/path] [command [args...]]"

CONNECTED = "\nWATCHER::\n\nWatchedEvent state:SyncConnected type:None path:null"
"""What ZooKeeper's shell prints when its session stands."""


def say(text: str) -> None:
    """Print a line at once, so that a reader of a pipe sees it."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def complain(text: str) -> None:
    """Print a line to standard error."""
    sys.stderr.write(f"{text}\n")


async def carry_out(session: ZooKeeperSession, words: Sequence[str]) -> int:
    """Carry one command out; the exit code."""
    if words[0] in {"help", "?"}:
        say(usage())
        return 0
    try:
        said = await run(session, words)
    except CommandError as error:
        complain(str(error))
        return error.exit_code
    for line in said.err:
        complain(line)
    for line in said.out:
        say(line)
    return 0


async def converse(session: ZooKeeperSession, server: str) -> int:
    """Take commands from standard input until it ends, or ``quit``; the exit code of the last one."""
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
        code = await carry_out(session, words)
        number += 1


async def serve(server: str, words: Sequence[str]) -> int:
    """Connect, do what is asked, and take leave; the exit code."""
    say(f"Connecting to {server}")
    try:
        session = await ZooKeeperSession.connect(
            server,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            on_event=lambda _: None,
            connect_timeout_ms=CONNECT_TIMEOUT_MS,
        )
    except (ZooKeeperUnavailable, ValueError) as error:
        complain(str(error))
        return 1
    try:
        if words:
            say(CONNECTED)
            return await carry_out(session, words)
        say(f"Welcome to ZooKeeper!\nJLine support is disabled\n{CONNECTED}")
        return await converse(session, server)
    finally:
        await session.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the shell; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in {"-h", "--help"}:
        sys.stdout.write(f"{USAGE}\n{usage()}\n")
        return 0 if given else 1
    # kazoo tells of every try to connect; what came of them all is one line of our own.
    logging.getLogger("kazoo").setLevel(logging.CRITICAL + 1)
    return asyncio.run(serve(given[0], given[1:]))


if __name__ == "__main__":
    sys.exit(run_tool(main))
