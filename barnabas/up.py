"""``barnabas up``: run a local cluster, in the foreground or behind the command.

The process that runs the cluster also serves its control socket, and restarts processes that ended by
themselves (``barnabas.local.supervisor``). In the background, its output is in ``up.log`` in the cluster's
directory.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from barnabas.cluster.model.ids import BrokerId
from barnabas.local.broker_process import live_process
from barnabas.local.cluster import READY_TIMEOUT_S, LocalCluster
from barnabas.local.control import ClusterStatus, ControlClient, NotRunningError, command_for, served
from barnabas.local.errors import ClusterError
from barnabas.local.forks import Forks
from barnabas.local.place import HERE
from barnabas.local.ports import PortError
from barnabas.local.secured import Secured, described, first_command, is_secured, zookeeper_security
from barnabas.local.supervisor import Supervisor
from barnabas.local.switches import Switches
from barnabas.local.zookeeper_jars import ZooKeeperStartError, find_jars
from barnabas.local.zookeeper_security import UNSECURED

LOG = "up.log"
"""The file in the cluster's directory with the output of a cluster in the background."""

PAGE_PORTS = (8080, 0)
"""The ports for the live page: its usual one, or any free one if that is taken."""

_POLL_S = 0.2
"""Seconds between two checks of the processes."""

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that stop the cluster: those of Ctrl-C, of ``kill`` and of a terminal that is closed."""


def topic_defaults(brokers: int) -> dict[str, str]:
    """Return the brokers' settings for new topics: replicas survive a broker's death if there are enough."""
    return {
        "default.replication.factor": str(min(3, brokers)),
        "min.insync.replicas": "2" if brokers >= 3 else "1",
    }


def run(
    directory: Path,
    brokers: int,
    port: int,
    overrides: Mapping[str, str],
    page_ports: Sequence[int] = PAGE_PORTS,
    *,
    page_host: str = HERE.host,
    secure: bool = False,
) -> int:
    """Run a cluster until a signal or ``barnabas down`` stops it. Call this on the main thread.

    Args:
        directory: The folder for all files.
        brokers: The number of brokers.
        port: The first broker's port for clients; 0 for free ones.
        overrides: Further settings of all brokers, which win over `topic_defaults`.
        page_ports: The ports for the live page, of which the first free one is taken; none for no page.
        page_host: The address on which the page listens. Everybody who reaches it may press the buttons.
        secure: Whether to make a secured cluster. One that is secured stays so, whatever this says.

    Returns:
        The exit status: 0 after a signal or ``down``; 1 if the cluster did not start, runs already or
        ZooKeeper keeps ending.
    """
    with _stop_requested() as stop:
        try:
            _refuse_second(directory)
            directory.mkdir(parents=True, exist_ok=True)
            secured = Secured(directory, brokers) if secure or is_secured(directory) else None
            cluster = _made(directory, brokers, port, overrides, secured)
        except (ClusterError, OSError) as error:
            return _fail(str(error))
        except PortError as error:
            _fail(str(error))
            _name_other_brokers(directory, brokers, sys.stderr)
            return 1
        # Without the page nobody can cut a broker off, and nothing stands between the brokers.
        switches = Switches(cluster) if page_ports else None
        try:
            _run(cluster, secured, switches, stop, (page_host, page_ports))
        except (ClusterError, ZooKeeperStartError) as error:
            return _fail(str(error))
        finally:
            _say("stopping")
            started = [broker.id for broker in cluster.brokers.values() if broker.pid is not None]
            _name_other_brokers(directory, brokers, sys.stdout, started)
            if switches is not None:
                switches.heal_all()  # a broker that is cut off could not hand over its leaderships
            for broker_id in cluster.stop():
                _say(f"broker {broker_id} did not end in time and was killed")
            if switches is not None:
                switches.close()
    return 0


def _made(
    directory: Path, brokers: int, port: int, overrides: Mapping[str, str], secured: Secured | None
) -> LocalCluster:
    """Make a cluster, without starting it.

    Raises:
        PortError: The ports are not available.
    """
    of_security = {} if secured is None else secured.settings
    cluster = LocalCluster(
        directory,
        brokers,
        port,
        {**topic_defaults(brokers), **of_security, **overrides},
        children=Forks(directory.resolve()),
        zookeeper_security=UNSECURED if secured is None else secured.zookeeper,
    )
    if secured is not None:
        secured.apply(cluster)
    return cluster


def _refuse_second(directory: Path) -> None:
    with contextlib.suppress(NotRunningError):
        pid = ControlClient(directory).status().pid
        raise ClusterError(
            f"a cluster runs in {directory} already, process {pid}; {command_for(directory, 'down')} stops it"
        )


def _name_other_brokers(
    directory: Path, brokers: int, stream: TextIO, started: Collection[BrokerId] = ()
) -> None:
    """Print the brokers of ``directory`` that run but are not among ``started``."""
    for number in range(1, brokers + 1):
        pid = None if number in started else live_process(directory / f"broker-{number}")
        if pid is not None:
            _write(
                stream,
                f"broker {number} in {directory} was not started here and keeps running, process {pid}; "
                f"stop it with: kill {pid}",
            )


def _run(
    cluster: LocalCluster,
    secured: Secured | None,
    switches: Switches | None,
    stop: threading.Event,
    page_at: tuple[str, Sequence[int]],
) -> None:
    began = time.monotonic()
    _say(f"starting ZooKeeper and {len(cluster.brokers)} brokers in {cluster.directory}")
    if secured is not None:
        cluster.restart_zookeeper()
        secured.provision(cluster.zookeeper_connect, zookeeper_security(cluster))
    cluster.launch()
    cluster.wait_ready(READY_TIMEOUT_S, given_up=stop.is_set)
    if stop.is_set():
        return
    if switches is not None:
        switches.is_starting = False
    supervisor = Supervisor(cluster, _say)
    with (
        _page(cluster, secured, supervisor, switches, page_at) as supervisor.page,
        served(supervisor, cluster.directory),
    ):
        _say(f"ZooKeeper on {cluster.zookeeper_connect}")
        for broker in cluster.brokers.values():
            _say(f"broker {broker.id} on {broker.kafka}, process {broker.pid}, {broker.directory}")
        _say(f"ready after {time.monotonic() - began:.1f} s; bootstrap servers {cluster.bootstrap}")
        if supervisor.page:
            _say(f"watch it on {supervisor.page}")
        if secured is not None:
            _tell_logins(cluster.directory, cluster.bootstrap)
        last = str(len(cluster.brokers))
        kill, start = (command_for(cluster.directory, verb, last) for verb in ("kill", "start"))
        _say(f"Ctrl-C stops the cluster; {kill} kills a broker, {start} starts it again")
        while not stop.wait(_POLL_S) and not supervisor.down_requested.is_set():
            supervisor.look_after()


@contextmanager
def _page(
    cluster: LocalCluster,
    secured: Secured | None,
    supervisor: Supervisor,
    switches: Switches | None,
    at: tuple[str, Sequence[int]],
) -> Iterator[str]:
    """Serve the live page; yield its address, or nothing if none is wanted.

    Raises:
        ClusterError: The ports are taken.
    """
    host, ports = at
    if not ports:
        yield ""
        return
    # A web server and a client take half a second to import.
    from barnabas.page.controls import LocalControls
    from barnabas.page.live import Source
    from barnabas.page.server import PageServer

    brokers = {int(broker.id): broker for broker in cluster.brokers.values()}
    source = Source(
        cluster.zookeeper_connect,
        cluster.bootstrap,
        {number: broker.metrics for number, broker in brokers.items()},
        {number: broker.state_change_log.parent for number, broker in brokers.items()},
        zookeeper_security(cluster),
        None if secured is None else secured.admin,
        cluster.session_timeout_ms,
    )
    # Sessions are ended by a client that does not log in.
    expires = cluster.zookeeper_connect if secured is None else None
    controls = LocalControls(supervisor, expires, switches)
    with PageServer(source, controls, out=cluster.directory / "report", host=host, ports=ports) as page:
        yield page.url


def detach(directory: Path, arguments: list[str]) -> int:
    """Start ``barnabas up`` in the background, and return when it serves.

    What ZooKeeper needs is downloaded here, where it is seen.

    Args:
        directory: The cluster's directory.
        arguments: The arguments of ``barnabas up`` for the process in the background.

    Returns:
        The exit status: 0 if the cluster serves, otherwise 1, with the output of the process printed.
    """
    client = ControlClient(directory)
    try:
        _refuse_second(directory)
        find_jars(secure="--secure" in arguments or is_secured(directory))
        _say(f"starting a cluster in {directory.resolve()}; its output is in {directory / LOG}")
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / LOG).open("ab") as log:
            begin = log.tell()
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "barnabas", "up", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        status = _wait_served(client, process)
    except (ClusterError, ZooKeeperStartError, OSError) as error:
        return _fail(str(error))
    if status is None:
        with (directory / LOG).open("rb") as log:
            log.seek(begin)
            sys.stderr.write(log.read().decode(errors="replace"))
        return 1
    _say(f"bootstrap servers {status.bootstrap}")
    if status.page:
        _say(f"watch it on {status.page}")
    if is_secured(directory):
        _tell_logins(directory, status.bootstrap)
    _say(f"it runs in the background as process {status.pid}; {command_for(directory, 'down')} stops it")
    return 0


def _tell_logins(directory: Path, bootstrap: str) -> None:
    for line in described(directory):
        _say(line)
    _say("try:")
    sys.stdout.write(first_command(directory, bootstrap) + "\n")
    sys.stdout.flush()


def _wait_served(client: ControlClient, process: subprocess.Popen[bytes]) -> ClusterStatus | None:
    """Wait until the control socket answers or the process has ended, which is None; Ctrl-C ends both."""
    try:
        while process.poll() is None:
            with contextlib.suppress(ClusterError):
                status = client.status()
                if status.pid == process.pid:
                    return status
            time.sleep(_POLL_S)
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
    return None


@contextmanager
def _stop_requested() -> Iterator[threading.Event]:
    """Yield an event that each of `_STOPPING` sets; restore the former handlers afterwards."""
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda _number, _frame: stop.set())
        for number in _STOPPING
        # If `nohup` ignores SIGHUP, so does this process. A shell's `&` ignores SIGINT, but a SIGINT that
        # somebody sends to this process stops it.
        if not (number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(text: str) -> None:
    _write(sys.stdout, text)


def _fail(text: str) -> int:
    _write(sys.stderr, text)
    return 1


def _write(stream: TextIO, text: str) -> None:
    """Write a line. Ignore a closed terminal, because the cluster must still be stopped."""
    with contextlib.suppress(OSError, ValueError):
        stream.write(f"barnabas: {text}\n")
        stream.flush()
