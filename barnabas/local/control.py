"""The control socket of a running cluster, which ``barnabas kill``, ``status``, ``down`` and others use.

The supervisor listens on a Unix socket in the cluster's directory, which only its user can open. A request is
a line of JSON, ``{"command": "kill", "broker": 2}``, and so is its answer, ``{"result": …}`` or
``{"error": "…"}``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import shlex
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from barnabas.cluster.model.ids import BrokerId
from barnabas.local.errors import ClusterError
from barnabas.local.zookeeper_jars import ZooKeeperStartError, cache_folder

SOCKET = "control.sock"

DEFAULT_DIRECTORY = Path("barnabas-data")
"""The directory of a cluster if a command names none."""

_LONGEST_PATH = 100
"""Bytes of a socket's path that every system takes (Linux takes 107, macOS 103)."""

_ANSWER_S = 120.0
"""The timeout of a command in seconds: a start may take 60, a stop 30."""

_POLL_S = 0.05


class BrokerState(StrEnum):
    """The state of a broker as its supervisor knows it."""

    RUNNING = "running"
    """The broker serves clients."""
    STARTING = "starting"
    """The process runs, and does not serve yet, or does not answer."""
    PAUSED = "paused"
    """The process was paused by a command."""
    KILLED = "killed"
    """A command killed the broker; it stays down until it is started."""
    STOPPED = "stopped"
    """A command stopped the broker; it stays down until it is started."""
    ENDED = "ended"
    """The process ended by itself, and will be started again unless it keeps ending."""


@dataclass(frozen=True, slots=True)
class BrokerStatus:
    """A broker of a running cluster.

    Attributes:
        id: The broker.id.
        state: The state.
        pid: The process id; None while there is no process.
        kafka: host:port for clients.
        metrics: host:port of the metrics page.
        directory: The folder of settings, logs and data.
        controller: Whether the broker says that it is the controller.
    """

    id: int
    state: BrokerState
    pid: int | None
    kafka: str
    metrics: str
    directory: str
    controller: bool


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """A running cluster.

    Attributes:
        pid: The process id of the supervisor.
        zookeeper: The connect string.
        zookeeper_pid: The process id of the embedded ZooKeeper; None while it does not run.
        brokers: The brokers by id.
        page: The address of the live page; empty if none is served.
    """

    pid: int
    zookeeper: str
    zookeeper_pid: int | None
    brokers: tuple[BrokerStatus, ...]
    page: str = ""

    @property
    def bootstrap(self) -> str:
        """The ``bootstrap.servers`` for clients: all brokers, including dead ones."""
        return ",".join(broker.kafka for broker in self.brokers)


class ClusterControl(Protocol):
    """The commands to a running cluster; ``Supervisor`` performs them, ``ControlClient`` sends them to one.

    It has those of `BROKER_COMMANDS`, too, which raise ClusterError for an unknown broker, or if the command
    did not succeed in time.
    """

    def status(self) -> ClusterStatus:
        """Return the state of the cluster's processes."""
        ...

    def down(self) -> int:
        """Begin to stop the whole cluster, and return the supervisor's process id, which ends last."""
        ...


BROKER_COMMANDS = {
    "kill": "End a broker with SIGKILL; it stays down until `start`.",
    "stop": "Stop a broker cleanly; it stays down until `start`.",
    "start": "Start a broker that is down, and return when it serves.",
    "pause": "Pause a broker's process with SIGSTOP.",
    "resume": "Resume a paused broker.",
}
"""The commands that take a broker's id, and what they do; ``Supervisor`` has a method of each name."""


def command_for(directory: Path, *words: str) -> str:
    """Return the command ``barnabas WORDS`` for the cluster in ``directory``, in quotes for messages."""
    is_default = directory.resolve() == DEFAULT_DIRECTORY.resolve()
    return f"`{shlex.join(['barnabas', *words, *([] if is_default else ['--dir', str(directory)])])}`"


def socket_path(directory: Path) -> Path:
    """Return the path of the control socket of the cluster in ``directory``.

    A path that is too long for a socket is replaced by one in the user's cache folder.
    """
    path = directory.resolve() / SOCKET
    if len(os.fsencode(path)) <= _LONGEST_PATH:
        return path
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    return cache_folder(os.environ) / f"{digest}.sock"


@contextmanager
def served(control: ClusterControl, directory: Path) -> Iterator[None]:
    """Serve commands on the control socket for the time of a ``with`` block.

    Raises:
        ClusterError: The socket cannot be opened.
    """
    path = socket_path(directory)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # of a supervisor that was killed
        server = _Server(path, control)
    except OSError as error:
        raise ClusterError(f"cannot open the control socket {path}: {error.strerror or error}") from error
    thread = threading.Thread(target=server.serve_forever, args=(_POLL_S,), name="control", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        path.unlink(missing_ok=True)


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, path: Path, control: ClusterControl) -> None:
        self.control = control
        super().__init__(str(path), _Handler)
        path.chmod(0o600)


class _Handler(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        line = self.rfile.readline()
        if line:
            answer = json.dumps(answer_to(self.server.control, line)) + "\n"
            with contextlib.suppress(OSError):  # the client may have gone
                self.wfile.write(answer.encode())


def answer_to(control: ClusterControl, line: bytes) -> dict[str, Any]:
    """Perform the command in ``line``, and return the answer."""
    try:
        request = json.loads(line)
        command, broker = request["command"], request.get("broker")
    except (ValueError, KeyError, AttributeError, TypeError):
        return {"error": f"not a command: {line[:100]!r}"}
    try:
        if command == "status":
            return {"result": dataclasses.asdict(control.status())}
        if command == "down":
            return {"result": control.down()}
        if command in BROKER_COMMANDS and isinstance(broker, int):
            getattr(control, command)(BrokerId(broker))
            return {"result": None}
    except (ClusterError, ZooKeeperStartError) as error:
        return {"error": str(error)}
    return {"error": f"not a command: {line[:100]!r}"}


class NotRunningError(ClusterError):
    """An error if no cluster runs in a directory."""


class ControlClient:
    """A client of the control socket.

    Args:
        directory: The cluster's directory.

    Every call raises NotRunningError if no supervisor serves there, and ClusterError as in
    ``ClusterControl``.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def status(self) -> ClusterStatus:
        """Return the state of the cluster's processes."""
        found = self._ask("status")
        brokers = tuple(
            BrokerStatus(**{**broker, "state": BrokerState(broker["state"])}) for broker in found["brokers"]
        )
        return ClusterStatus(**{**found, "brokers": brokers})

    def perform(self, command: str, broker_id: BrokerId) -> None:
        """Let a broker be killed, stopped and so on: ``command`` is one of `BROKER_COMMANDS`."""
        self._ask(command, broker_id)

    def down(self) -> int:
        """Begin to stop the cluster, and return the supervisor's process id."""
        return int(self._ask("down"))

    def down_and_wait(self, timeout_s: float = 30.0) -> None:
        """Stop the cluster, and wait until its supervisor has ended.

        Raises:
            ClusterError: It did not end in time.
        """
        pid = self.down()
        deadline = time.monotonic() + timeout_s
        while _lives(pid):
            if time.monotonic() > deadline:
                raise ClusterError(f"the cluster did not stop within {timeout_s:g} s; its process is {pid}")
            time.sleep(_POLL_S)

    def _ask(self, command: str, broker: BrokerId | None = None) -> Any:
        path = socket_path(self._directory)
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(_ANSWER_S)
                connection.connect(str(path))
                request = json.dumps({"command": command, "broker": broker})
                connection.sendall(request.encode() + b"\n")
                with connection.makefile("rb") as answers:
                    line = answers.readline()
        except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError) as error:
            raise NotRunningError(
                f"no cluster runs in {self._directory}: {command_for(self._directory, 'up')} starts one"
            ) from error
        except OSError as error:
            raise ClusterError(f"the cluster in {self._directory} does not answer: {error}") from error
        if not line:
            raise ClusterError(f"the cluster in {self._directory} ended before it answered")
        answer = json.loads(line)
        if "error" in answer:
            raise ClusterError(answer["error"])
        return answer["result"]


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
