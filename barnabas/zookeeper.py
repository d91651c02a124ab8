"""An embedded ZooKeeper: the real Apache ZooKeeper server, run from the jars that pyspark's wheel carries.

One directory holds all there is to it: ``zoo.cfg``, ``data/`` (snapshots), ``datalog/`` (the transaction log
apart from the snapshots, as ZooKeeper's administrator's guide asks) and ``zookeeper.log`` (warnings, errors).
The server can be stopped, killed and started again on the same directory and port; an acknowledged write
survives, because ``forceSync`` stays on.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, Self

from barnabas.children import tied_to_parent
from barnabas.place import HERE, Place

MINIMUM_JAVA = 17
"""The oldest Java that pyspark 4 runs on; the server asks for the same, so that one Java serves both."""

DEFAULT_TICK_MS = 200
"""ZooKeeper's unit of time: a session that has run out is noticed at the next tick, and not before."""

MINIMUM_SESSION_TIMEOUT_MS = 1_000
"""The shortest session granted: kazoo's ping jitter makes shorter ones unsafe."""

MAXIMUM_SESSION_TIMEOUT_MS = 60_000
"""The longest session granted: ZooKeeper's own limit of 20 ticks would cut Kafka's default of 18 s."""

_JARS = (
    "zookeeper-3.*.jar",
    "zookeeper-jute-*.jar",
    "slf4j-api-*.jar",
    "log4j-slf4j2-impl-*.jar",
    "log4j-api-*.jar",
    "metrics-core-*.jar",
    "snappy-java-*.jar",
)
"""All that a standalone server loads. log4j-core is left out: log4j-api's own simple logger suffices, and the
server starts a third faster."""

_SIMPLE_LOGGER = "org.apache.logging.log4j.simplelog"

_JVM_FLAGS = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.net.preferIPv4Stack=true",
    "-Dzookeeper.preAllocSize=4096",  # KB; the default of 64 MB per log file is much for a laptop
    f"-D{_SIMPLE_LOGGER}.level=WARN",
    f"-D{_SIMPLE_LOGGER}.showdatetime=true",
    # It complains when the readiness probe comes before the database is loaded.
    f"-D{_SIMPLE_LOGGER}.org.apache.zookeeper.server.ServerCnxn.level=OFF",
    "-Dlog4j2.statusLoggerLevel=OFF",
)

_EXCEPTION = re.compile(r"(Caused by: )?[\w.$]+(Exception|Error): .")
"""A line of a Java stack trace that names an exception and its message."""


class ZooKeeperStartError(Exception):
    """The embedded ZooKeeper cannot run; the message is one line that says what is missing or in the way."""


class EmbeddedZooKeeper:
    """One standalone ZooKeeper server as a child process, on 127.0.0.1 unless another place is given.

    On Linux the server is killed when the thread that started it ends, however that happens; so start it from
    a thread that lives as long as the server is needed, such as the main thread. It runs in a process session
    of its own: Ctrl-C in the terminal reaches its owner alone, who stops it last.

    Attributes:
        directory: Where configuration, data and log lie; created by ``start``.
        port: The TCP port; for 0, any free one, chosen at construction and kept over restarts.
    """

    def __init__(
        self, directory: Path | str, port: int = 0, tick_ms: int = DEFAULT_TICK_MS, place: Place = HERE
    ) -> None:
        self.directory = Path(directory).resolve()
        self.port = port or _free_port()
        self._tick_ms = tick_ms
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    @property
    def address(self) -> str:
        """``host:port``, as ``zookeeper.connect`` takes it."""
        return f"{self._place.host}:{self.port}"

    @property
    def pid(self) -> int | None:
        """The server's process id, or None while it does not run."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    @property
    def log_file(self) -> Path:
        """What the server wrote to its log, standard output and standard error."""
        return self.directory / "zookeeper.log"

    def start(self, timeout_s: float = 20.0) -> None:
        """Start the server and return when it answers.

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
        java, jars = find_java(), find_jars()
        if self._place == HERE:
            _check_port_free(self.port)
        for name in ("data", "datalog"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        config = self.directory / "zoo.cfg"
        settings = render_config(self.directory, self.port, self._tick_ms, self._place.host)
        config.write_text(settings, encoding="utf-8")
        class_path = os.pathsep.join(str(jar) for jar in jars)
        main = "org.apache.zookeeper.server.ZooKeeperServerMain"
        command = [*self._place.enter, java, *_JVM_FLAGS, "-cp", class_path, main, str(config)]
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

    def wait_ready(self, timeout_s: float = 20.0) -> None:
        """Return when the launched server serves requests.

        Raises:
            ZooKeeperStartError: It ended, or did not answer within ``timeout_s``; it is killed then.
        """
        deadline = time.monotonic() + timeout_s
        while not _serves(self._place.host, self.port):
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
        """Stop the server with SIGTERM, after ``timeout_s`` with SIGKILL; does nothing where none runs."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def kill(self) -> None:
        """End the server with SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def pause(self) -> None:
        """Hold the server with SIGSTOP; does nothing where none runs."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a held server go on."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def wait(self) -> int:
        """Block until the server process has ended; its exit status (negative: the signal that ended it)."""
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
        """The most telling line of this run's log: the last exception that says more, else the last line."""
        with self.log_file.open("rb") as log:
            log.seek(self._log_start)
            lines = [line.strip() for line in log.read().decode("utf-8", errors="replace").split("\n")]
        exceptions = [line for line in lines if _EXCEPTION.match(line)]
        written = [line for line in lines if line]
        return (exceptions or written or ["it wrote nothing"])[-1] + f" (see {self.log_file})"


def run_in_foreground(directory: Path | str, port: int) -> int:
    """Run the server until it ends or this process gets SIGINT or SIGTERM; for ``barnabas zookeeper``.

    Must be called on the main thread (it handles signals). Prints the address on standard output once the
    server answers.

    Returns:
        The exit status for the shell: 0 after a signal, 1 where the server ended by itself.

    Raises:
        ZooKeeperStartError: As ``EmbeddedZooKeeper.start``.
    """
    asked = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        asked.set()

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with EmbeddedZooKeeper(directory, port) as server:
            sys.stdout.write(f"ZooKeeper answers on {server.address}, process {server.pid}\n")
            sys.stdout.flush()
            while not asked.wait(0.2):
                if server.pid is None:
                    sys.stderr.write(
                        f"ZooKeeper ended by itself with status {server.wait()}; see {server.log_file}\n"
                    )
                    return 1
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0


def render_config(directory: Path, port: int, tick_ms: int, host: str = HERE.host) -> str:
    """The server's configuration file, for a standalone server whose data lies under ``directory``."""
    settings = {
        "tickTime": tick_ms,
        "minSessionTimeout": MINIMUM_SESSION_TIMEOUT_MS,
        "maxSessionTimeout": MAXIMUM_SESSION_TIMEOUT_MS,
        "clientPort": port,
        "clientPortAddress": host,
        "maxClientCnxns": 0,  # no limit: all brokers of a local cluster come from one address
        "dataDir": directory / "data",
        "dataLogDir": directory / "datalog",
        "forceSync": "yes",
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "srvr",
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def find_java() -> str:
    """The ``java`` of JAVA_HOME, else of PATH.

    Raises:
        ZooKeeperStartError: There is none, or it says that it is older than ``MINIMUM_JAVA``.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME={home}" if home else "PATH"
        raise ZooKeeperStartError(f"no java found in {where}: install a Java {MINIMUM_JAVA} or 21 runtime")
    release = Path(java).resolve().parent.parent / "release"
    version = java_version(release.read_text(encoding="utf-8")) if release.is_file() else None
    if version is not None and version < MINIMUM_JAVA:
        raise ZooKeeperStartError(f"{java} is Java {version}: install a Java {MINIMUM_JAVA} or 21 runtime")
    return java


def java_version(release: str) -> int | None:
    """The feature version (17, 21; 8 for ``1.8.0``) in a JDK's ``release`` file; None where it names none."""
    for line in release.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "JAVA_VERSION":
            parts = value.strip().strip('"').split(".")
            number = parts[1] if parts[0] == "1" and len(parts) > 1 else parts[0]
            return int(number) if number.isdigit() else None
    return None


def find_jars() -> tuple[Path, ...]:
    """The jars of the server in pyspark's package, which is located without being imported.

    Raises:
        ZooKeeperStartError: pyspark is not installed, or one of the jars is not there.
    """
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise ZooKeeperStartError(
            "the embedded ZooKeeper runs from pyspark's jars: install pyspark (pip install 'barnabas[spark]')"
        )
    folder = Path(spec.submodule_search_locations[0]) / "jars"
    found = []
    for pattern in _JARS:
        matches = sorted(folder.glob(pattern))
        if not matches:
            raise ZooKeeperStartError(
                f"{folder} has no {pattern}: install pyspark 4 (pip install 'barnabas[spark]')"
            )
        found.append(matches[-1])
    return tuple(found)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HERE.host, 0))
        port: int = probe.getsockname()[1]
        return port


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
    """The lock of a server directory: a child that inherits the file holds it as long as it lives."""
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ZooKeeperStartError(f"another ZooKeeper runs on the directory {path.parent}") from error
        yield file


def _serves(host: str, port: int) -> bool:
    """Whether the server answers the four-letter word ``srvr`` with its mode, as it does once it serves."""
    try:
        with socket.create_connection((host, port), timeout=0.5) as connection:
            connection.sendall(b"srvr")
            with connection.makefile("rb") as answer:
                return b"Mode:" in answer.read()
    except OSError:
        return False
