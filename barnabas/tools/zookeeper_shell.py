"""``zookeeper-shell.sh``: look at and change what stands in ZooKeeper.

Takes one command from the command line, or many from standard input, as ZooKeeper's own shell does. Exit code
0, or 1 where the command of the command line was not carried out or no ZooKeeper answered.
"""

from __future__ import annotations

import asyncio
import logging
import shlex
import sys
from collections.abc import Sequence

from barnabas.tools.entry import run_tool
from barnabas.tools.zookeeper_commands import COMMANDS, CommandError, run
from cluster.zk.errors import ZooKeeperUnavailable
from cluster.zk.session import ZooKeeperSession

SESSION_TIMEOUT_MS = 30_000
"""As in ZooKeeper's own shell."""

CONNECT_TIMEOUT_MS = 10_000
"""How long to wait for a server."""

USAGE = "USAGE: zookeeper-shell.sh zookeeper_host:port[/path] [command [args...]]"

CONNECTED = "\nWATCHER::\n\nWatchedEvent state:SyncConnected type:None path:null"
"""What ZooKeeper's shell prints when its session stands."""


def usage() -> str:
    """The commands there are."""
    lines = "\n".join(f"\t{command.usage}" for command in COMMANDS.values())
    return f"ZooKeeper -server host:port cmd args\n{lines}\n\tquit"


def say(text: str) -> None:
    """Print a line at once, so that a reader of a pipe sees it."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def carry_out(session: ZooKeeperSession, words: Sequence[str]) -> bool:
    """Carry one command out; whether it was."""
    if words[0] in {"help", "?"}:
        say(usage())
        return True
    try:
        for line in await run(session, words):
            say(line)
    except CommandError as error:
        say(str(error))
        return False
    return True


async def converse(session: ZooKeeperSession, server: str) -> None:
    """Take commands from standard input until it ends, or ``quit``."""
    number = 0
    while True:
        if sys.stdin.isatty():
            sys.stdout.write(f"[zk: {server}(CONNECTED) {number}] ")
            sys.stdout.flush()
        line = await asyncio.to_thread(sys.stdin.readline)
        if not line:
            return
        try:
            words = shlex.split(line)
        except ValueError as error:
            say(f"{line.strip()}: {error}")
            continue
        if not words:
            continue
        if words[0] in {"quit", "close"}:
            return
        await carry_out(session, words)
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
        sys.stderr.write(f"{error}\n")
        return 1
    try:
        if words:
            say(CONNECTED)
            return 0 if await carry_out(session, words) else 1
        say(f"Welcome to ZooKeeper!\nJLine support is disabled\n{CONNECTED}")
        await converse(session, server)
        return 0
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
