"""The commands about a cluster that ``barnabas up`` runs, on the terminal."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

import typer

from barnabas.cluster.model.configs.known import check_settings
from barnabas.local.control import BrokerStatus, ClusterStatus, ControlClient
from barnabas.local.errors import ClusterError

_FOLLOW_EVERY_S = 0.2

_LAST_BYTES = 1_000_000
"""The bytes at the end of a log that are searched for its last lines."""


def setting(text: str) -> tuple[str, str]:
    """Return the name and the value of ``NAME=VALUE``.

    Raises:
        typer.BadParameter: There is no ``=`` or no name before it, or brokers have no such setting or refuse
            its value.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise typer.BadParameter(f"--override {text}: expected NAME=VALUE")
    try:
        check_settings({name.strip(): value})
    except ValueError as error:
        raise typer.BadParameter(f"--override {text}: {error}") from error
    return name.strip(), value.strip()


def on(directory: Path, command: Callable[[ControlClient], None]) -> int:
    """Send a command to the cluster in ``directory``, and return the exit status; 1 on failure."""
    try:
        command(ControlClient(directory))
    except ClusterError as error:
        typer.echo(f"barnabas: {error}", err=True)
        return 1
    return 0


def print_status(directory: Path) -> int:
    """Print a line for ZooKeeper and each broker, and return the exit status: 1 if no cluster runs."""
    return on(directory, lambda cluster: typer.echo(rendered(cluster.status())))


def rendered(status: ClusterStatus) -> str:
    """Format the state of a cluster."""
    zookeeper = f"process {status.zookeeper_pid}" if status.zookeeper_pid is not None else "not running"
    rows = [
        ("ZooKeeper", status.zookeeper, zookeeper),
        *((f"broker {broker.id}", broker.kafka, _condition(broker)) for broker in status.brokers),
    ]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"{name:{widths[0]}}  {address:{widths[1]}}  {text}" for name, address, text in rows]
    page = [f"watch it on {status.page}"] if status.page else []
    return "\n".join([*lines, f"bootstrap servers {status.bootstrap}", *page])


def _condition(broker: BrokerStatus) -> str:
    process = "" if broker.pid is None else f", process {broker.pid}"
    return f"{broker.state}{process}{', controller' if broker.controller else ''}"


def print_logs(directory: Path, broker: int | None, file: str, lines: int, *, follow: bool) -> int:
    """Print the last lines of brokers' logs, with ``follow`` also what is added until Ctrl-C.

    Returns:
        The exit status: 1 if there is no such log.
    """
    folder = "broker-*" if broker is None else f"broker-{broker}"
    found = sorted(directory.glob(f"{folder}/logs/{file}.log"), key=lambda path: (len(str(path)), path))
    if not found:
        others = sorted({path.stem for path in directory.glob(f"{folder}/logs/*.log")})
        expected = f": expected one of {', '.join(others)}" if others else ""
        typer.echo(f"barnabas: there is no {directory}/{folder}/logs/{file}.log{expected}", err=True)
        return 1
    tails = [Tail(path, f"{path.parent.parent.name} | " if broker is None else "") for path in found]
    try:
        _write([line for tail in tails for line in tail.last(lines)])
        while follow:
            time.sleep(_FOLLOW_EVERY_S)
            _write([line for tail in tails for line in tail.added()])
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    return 0


class Tail:
    """The end of a growing file of lines.

    Args:
        path: The file.
        prefix: A text before each line.
    """

    def __init__(self, path: Path, prefix: str) -> None:
        self._path = path
        self._prefix = prefix
        self._position = 0

    def last(self, lines: int) -> list[str]:
        """Return the last whole lines; ``added`` continues behind them."""
        begin = max(0, self._path.stat().st_size - _LAST_BYTES)
        with self._path.open("rb") as file:
            file.seek(begin)
            if begin:
                file.readline()  # the rest of a line
            self._position = file.tell()
        return list(deque(self.added(), maxlen=lines))

    def added(self) -> list[str]:
        """Return the whole lines since the last call, from the beginning if the file was rolled."""
        try:
            with self._path.open("rb") as file:
                if self._path.stat().st_size < self._position:
                    self._position = 0
                file.seek(self._position)
                text = file.read()
        except FileNotFoundError:
            return []  # between two files of a roll
        whole = text[: text.rfind(b"\n") + 1]
        self._position += len(whole)
        return [self._prefix + line for line in whole.decode("utf-8", errors="replace").splitlines()]


def _write(lines: Sequence[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
