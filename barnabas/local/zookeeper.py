"""An embedded ZooKeeper: the Apache ZooKeeper server, run from its jars.

One directory holds all files: ``zoo.cfg``, ``data/`` (snapshots), ``datalog/`` (the transaction log apart
from the snapshots, as ZooKeeper's administrator's guide asks) and ``zookeeper.log`` (warnings, errors). The
server can be stopped, killed and started again on the same directory and port; an acknowledged write
survives, because ``forceSync`` stays on unless a test does without.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, Self

from barnabas.cluster.model.configs.zookeeper import LOGIN_CONFIG
from barnabas.cluster.zk.client.client_tls import ClientTls
from barnabas.local.children import tied_to_parent
from barnabas.local.class_archive import ClassArchive
from barnabas.local.java import find_java
from barnabas.local.pausing import pause
from barnabas.local.place import HERE, Place
from barnabas.local.ports import free_ports
from barnabas.local.secret_files import write_secret
from barnabas.local.zookeeper_jars import ZooKeeperStartError, cache_folder, find_jars
from barnabas.local.zookeeper_security import (
    JAAS_FILE,
    UNSECURED,
    ServerSecurity,
    client_settings,
    render_security,
    render_users,
)

TICK_MS = 200
"""ZooKeeper's unit of time; an expired session is noticed at the next tick."""

MINIMUM_SESSION_TIMEOUT_MS = 1_000
"""The shortest session timeout; shorter ones are unsafe because of kazoo's ping jitter."""

MAXIMUM_SESSION_TIMEOUT_MS = 60_000
"""The longest session timeout; ZooKeeper's default limit of 20 ticks is below Kafka's default of 18 s."""

_SIMPLE_LOGGER = "org.apache.logging.log4j.simplelog"

_JVM_FLAGS = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.net.preferIPv4Stack=true",
    "-Dzookeeper.preAllocSize=4096",  # KB; the default of 64 MB per log file is much for a laptop
    f"-D{_SIMPLE_LOGGER}.level=WARN",
    f"-D{_SIMPLE_LOGGER}.showdatetime=true",
    # This logger warns about readiness probes before the database is loaded.
    f"-D{_SIMPLE_LOGGER}.org.apache.zookeeper.server.ServerCnxn.level=OFF",
    "-Dlog4j2.statusLoggerLevel=OFF",
)

_EXCEPTION = re.compile(r"(Caused by: )?[\w.$]+(Exception|Error): .")
"""A line of a Java stack trace that names an exception and its message."""

_ANSWER_S = 2.0
"""The longest wait for an answer to ``srvr``, in seconds."""

_HANDSHAKE_S = 15.0
"""The same over TLS: Java's first handshake took over 2 s on two cores with a load of 30."""

_START_S = 60.0
"""The longest wait for a server that still runs; one that ends is noticed at once."""

_ARCHIVE_S = 20.0
"""Seconds for the end of a server that writes its archive of classes, which happens once."""

_MODE = re.compile(rb"^Mode: (\w+)$", re.MULTILINE)

INIT_LIMIT_TICKS, SYNC_LIMIT_TICKS = 100, 20
"""``initLimit`` and ``syncLimit`` of an ensemble, in ticks.

A member must join its leader within the first, and the two disconnect after the second without a message.
"""

_ALONE, _MEMBER = (
    f"org.apache.zookeeper.server.{name}" for name in ("ZooKeeperServerMain", "quorum.QuorumPeerMain")
)

_MEMBER_FLAGS = (
    "-Dzookeeper.cnxTimeout=2000",  # ms to connect to another member; the default of 5 s slows elections
    # A member that lags by fewer transactions receives them. A snapshot would leave a gap in its log.
    "-Dzookeeper.commitLogCount=100000",
)


@dataclass(frozen=True, slots=True)
class Membership:
    """The membership of a server in an ensemble.

    Attributes:
        number: The server's ``myid``.
        servers: The ``host:port:port`` of each member: the ports for followers and for elections.
    """

    number: int
    servers: Mapping[int, str]


class EmbeddedZooKeeper:
    """A ZooKeeper server as a child process, by default on 127.0.0.1.

    The server is standalone, or a member of an ensemble with a ``membership``. With ``security`` clients log
    in (see `barnabas.local.zookeeper_security`), for which `client_settings` has the settings of brokers::

        zookeeper = EmbeddedZooKeeper(directory, security=ServerSecurity(users={"kafka": "secret"}))

    On Linux the server is killed when the thread that started it ends, however that happens; so start it from
    a thread that lives as long as the server is needed, such as the main thread. It runs in a process session
    of its own: Ctrl-C in the terminal reaches its owner alone, who stops it last.

    Without ``force_sync`` a write is acknowledged before it is on the disk: it survives the end of the
    process, but not that of the machine.

    Attributes:
        directory: Where configuration, data and log lie; created by ``start``.
        port: The TCP port; for 0, any free one, chosen at construction and kept over restarts.
    """

    def __init__(
        self,
        directory: Path | str,
        port: int = 0,
        place: Place = HERE,
        *,
        membership: Membership | None = None,
        security: ServerSecurity = UNSECURED,
        force_sync: bool = True,
    ) -> None:
        self.directory = Path(directory).resolve()
        self.port = port or free_ports(1)[0]
        self._place = place
        self._membership = membership
        self._security = security
        self._force_sync = force_sync
        self._archive: ClassArchive | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    @property
    def address(self) -> str:
        """``host:port``, as ``zookeeper.connect`` takes it."""
        return f"{self._place.host}:{self.port}"

    @property
    def pid(self) -> int | None:
        """The server's process id; None while it does not run."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    @property
    def exit_status(self) -> int | None:
        """The exit status of the last process (negative: the signal); None if it runs or never ran."""
        return None if self._process is None else self._process.poll()

    @property
    def client_settings(self) -> dict[str, str]:
        """The settings with which brokers reach the server and secure their nodes."""
        return client_settings(self._security, self.directory / JAAS_FILE)

    @property
    def log_file(self) -> Path:
        """The file with the server's log, standard output and standard error."""
        return self.directory / "zookeeper.log"

    def start(self, timeout_s: float = _START_S) -> None:
        """Start the server and wait until it answers.

        Raises:
            ZooKeeperStartError: Java or the jars are missing, the port or directory is taken, or the server
                ended or did not answer within ``timeout_s``.
        """
        self.launch()
        self.wait_ready(timeout_s)

    def launch(self) -> None:
        """Start the server process without waiting for it to answer.

        Raises:
            ZooKeeperStartError: Java or the jars are missing, or the port or directory is taken.
        """
        if self.pid is not None:
            raise ZooKeeperStartError(f"ZooKeeper already runs on {self.address} as process {self.pid}")
        java, jars = find_java(), find_jars(secure=self._security != UNSECURED)
        if self._place == HERE:
            _check_port_free(self.port)
        for name in ("data", "datalog"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
            if self._security != UNSECURED:
                (self.directory / name).chmod(0o700)
        class_path = os.pathsep.join(str(jar) for jar in jars)
        started = [*self._write_config(), str(self.directory / "zoo.cfg")]
        kind = [*_JVM_FLAGS, _ALONE if self._membership is None else _MEMBER]
        self._archive = ClassArchive.find(cache_folder(os.environ), java, jars, kind)
        shared = [] if self._archive is None else self._archive.flags()
        command = [*self._place.enter, java, *_JVM_FLAGS, *shared, "-cp", class_path, *started]
        with _locked(self.directory / ".lock") as lock, self.log_file.open("ab") as log:
            self._log_start = log.tell()
            self._process = subprocess.Popen(
                tied_to_parent(command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                pass_fds=(lock.fileno(),),
                start_new_session=True,
            )

    def _write_config(self) -> list[str]:
        """Write the configuration, and return further Java flags and the class to start."""
        secure = self._security.tls is not None
        settings = render_config(
            self.directory, self.port, self._place.host, secure=secure, force_sync=self._force_sync
        )
        settings += render_security(self._security)
        flags = [_ALONE]
        if self._membership is not None:
            settings += render_membership(self._membership)
            (self.directory / "data" / "myid").write_text(f"{self._membership.number}\n", encoding="ascii")
            flags = [*_MEMBER_FLAGS, _MEMBER]
        if self._security.users:
            users = self.directory / JAAS_FILE
            write_secret(users, render_users(self._security.users))
            flags.insert(0, f"-D{LOGIN_CONFIG}={users}")
        write_secret(self.directory / "zoo.cfg", settings)
        return flags

    def mode(self) -> str | None:
        """Return ``standalone``, ``leader`` or ``follower``; None while the server does not serve."""
        tls = None if self._security.tls is None else self._tls_context()
        return mode_of(self._place.host, self.port, tls)

    def _tls_context(self) -> ssl.SSLContext:
        """Return a context to ask the server with its own certificate, which has any name."""
        settings = {**self.client_settings, "zookeeper.ssl.endpoint.identification.algorithm": ""}
        settings["zookeeper.ssl.enabled.protocols"] = "TLSv1.2,TLSv1.3"
        return ClientTls.of(settings).context()

    def wait_ready(self, timeout_s: float = _START_S) -> None:
        """Wait until the launched server serves requests.

        Raises:
            ZooKeeperStartError: It ended, or did not answer within ``timeout_s``; it is killed then.
        """
        deadline = time.monotonic() + timeout_s
        while self.mode() is None:
            if self._process is None or self._process.poll() is not None:
                raise ZooKeeperStartError(
                    f"ZooKeeper on {self.address} ended at its start: {self._log_tail()}"
                )
            if time.monotonic() > deadline:
                self.kill()
                raise ZooKeeperStartError(
                    f"ZooKeeper on {self.address} did not answer within {timeout_s:g} s: {self._log_tail()}"
                )
            time.sleep(0.02)

    def stop(self, timeout_s: float = 5.0) -> None:
        """Stop the server with SIGTERM, after ``timeout_s`` with SIGKILL, if it runs.

        The first server of its kind takes a second more, because it writes its archive of classes.
        """
        if self._process is None:
            return
        is_archiving = self._archive is not None and self._archive.new is not None
        self._process.terminate()
        try:
            self._process.wait(max(timeout_s, _ARCHIVE_S) if is_archiving else timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._archive is not None:
            self._archive.keep()

    def kill(self) -> None:
        """End the server with SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._archive is not None:
            self._archive.keep()

    def pause(self) -> None:
        """Pause the server with SIGSTOP, if it runs, and wait until all its threads have stopped.

        Raises:
            ClusterError: They did not stop in time.
        """
        if self._process is not None:
            pause(self._process)

    def resume(self) -> None:
        """Resume a paused server with SIGCONT."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def wait(self) -> int:
        """Wait until the process has ended, and return its exit status (negative: the signal)."""
        if self._process is None:
            raise ZooKeeperStartError(f"ZooKeeper on {self.address} was not started")
        return self._process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _log_tail(self) -> str:
        """Return this run's last log line that names an exception with a message, else its last line."""
        with self.log_file.open("rb") as log:
            log.seek(self._log_start)
            lines = [line.strip() for line in log.read().decode("utf-8", errors="replace").split("\n")]
        exceptions = [line for line in lines if _EXCEPTION.match(line)]
        written = [line for line in lines if line]
        return (exceptions or written or ["it wrote nothing"])[-1] + f" (see {self.log_file})"


def run_in_foreground(directory: Path | str, port: int, security: ServerSecurity = UNSECURED) -> int:
    """Run the server until it ends or this process gets SIGINT or SIGTERM; for ``barnabas zookeeper``.

    Must be called on the main thread (it handles signals). Prints the address on standard output once the
    server answers, and the settings that brokers need.

    Returns:
        The exit status: 0 after a signal, 1 if the server ended by itself.

    Raises:
        ZooKeeperStartError: As ``EmbeddedZooKeeper.start``.
    """
    stop_requested = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop_requested.set()

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with EmbeddedZooKeeper(directory, port, security=security) as server:
            sys.stdout.write(f"ZooKeeper answers on {server.address}, process {server.pid}\n")
            settings = server.client_settings
            if settings:
                sys.stdout.write("in the server.properties of each broker:\n")
            sys.stdout.writelines(f"  {name}={value}\n" for name, value in settings.items())
            sys.stdout.flush()
            while not stop_requested.wait(0.2):
                if server.pid is None:
                    sys.stderr.write(
                        f"ZooKeeper ended by itself with status {server.wait()}; see {server.log_file}\n"
                    )
                    return 1
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0


def render_config(
    directory: Path, port: int, host: str, *, secure: bool = False, force_sync: bool = True
) -> str:
    """Return the configuration file of a standalone server with its data below ``directory``.

    Args:
        directory: The server's directory.
        port: The port for clients.
        host: The address to listen on.
        secure: Whether the port has TLS.
        force_sync: Whether a write is on the disk before it is acknowledged.
    """
    settings = {
        "tickTime": TICK_MS,
        "minSessionTimeout": MINIMUM_SESSION_TIMEOUT_MS,
        "maxSessionTimeout": MAXIMUM_SESSION_TIMEOUT_MS,
        "secureClientPort" if secure else "clientPort": port,
        "secureClientPortAddress" if secure else "clientPortAddress": host,
        "maxClientCnxns": 0,  # no limit: all brokers of a local cluster come from one address
        "dataDir": directory / "data",
        "dataLogDir": directory / "datalog",
        "forceSync": "yes" if force_sync else "no",
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "srvr",
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def render_membership(membership: Membership) -> str:
    """Return the further configuration of a member."""
    limits = f"initLimit={INIT_LIMIT_TICKS}\nsyncLimit={SYNC_LIMIT_TICKS}\n"
    return limits + "".join(f"server.{number}={where}\n" for number, where in membership.servers.items())


def _check_port_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HERE.host, port))
        except OSError as error:
            raise ZooKeeperStartError(
                f"ZooKeeper cannot listen on {HERE.host}:{port}: {error.strerror}"
            ) from error


@contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    """Lock a server directory; a child that inherits the file keeps the lock until its end."""
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ZooKeeperStartError(f"another ZooKeeper runs on the directory {path.parent}") from error
        yield file


def mode_of(host: str, port: int, tls: ssl.SSLContext | None = None) -> str | None:
    """Ask a server for its mode with the four-letter word ``srvr``; it names one only while it serves."""
    try:
        with (
            socket.create_connection((host, port), timeout=_HANDSHAKE_S if tls else _ANSWER_S) as plain,
            plain if tls is None else tls.wrap_socket(plain, server_hostname=host) as connection,
        ):
            connection.sendall(b"srvr")
            with connection.makefile("rb") as answer:
                mode = _MODE.search(answer.read())
    except OSError:
        return None
    return None if mode is None else mode[1].decode()
