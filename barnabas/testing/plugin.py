"""The pytest plugin: clusters as fixtures, and their story in the report of a failed test.

This module is imported by every pytest run where Barnabas is installed, so it imports the rest when a test
asks for a cluster.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Generator, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from barnabas.testing.cluster import Cluster
    from barnabas.testing.running import Checkpoint

_SINCE = pytest.StashKey[float]()

_FAILED = pytest.StashKey[bool]()
"""Set for a test whose setup or call failed."""

_FIXTURE = "barnabas_cluster"

_CLUSTER: pytest.StashKey[Cluster] = pytest.StashKey()
"""The session's cluster while it runs."""

_CHECKPOINT: pytest.StashKey[Checkpoint] = pytest.StashKey()
"""The checkpoint to which the session's cluster is restored."""

_KEPT: pytest.StashKey[list[Cluster]] = pytest.StashKey()
"""The clusters that stay open until Ctrl-C, because of ``--barnabas-keep``."""

_ATTEMPTS = 2
"""Starts of a cluster before the test fails."""

_FLUSHED_S = 0.25
"""The seconds after which a line of a broker's log is in its file (``cluster.runtime.statechange_log``)."""

_MARKER = (
    "barnabas(brokers=3, settings={}, session_timeout_ms=3000, racks=()): "
    "the cluster of fresh_barnabas_cluster, over the options barnabas_* of the ini file"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the ini file and of the command line."""
    parser.addini("barnabas_brokers", "number of brokers of a cluster", default="3")
    parser.addini("barnabas_settings", "settings of all brokers, key=value", type="linelist")
    parser.addini("barnabas_session_timeout_ms", "zookeeper.session.timeout.ms", default="3000")
    parser.addini("barnabas_racks", "broker.rack of broker 1, 2 and so on", type="args")
    parser.getgroup("barnabas").addoption(
        "--barnabas-keep",
        action="store_true",
        help="after the first failed test with a cluster, run no more tests and leave the cluster open until "
        "Ctrl-C, with a live page",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker.

    Raises:
        pytest.UsageError: ``--barnabas-keep`` is given with workers of pytest-xdist, which have no terminal.
    """
    config.addinivalue_line("markers", _MARKER)
    config.stash[_KEPT] = []
    if config.getoption("barnabas_keep") and config.getoption("numprocesses", None):
        raise pytest.UsageError("--barnabas-keep needs the tests in this process: leave out -n")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave clusters open that are kept, until Ctrl-C; all failures were reported before."""
    kept = config.stash.get(_KEPT, [])
    if not kept:
        return
    try:
        with warnings.catch_warnings(action="ignore"):  # pytest shows those of all imports
            from barnabas.testing.keep import leave_open

            leave_open(kept, lambda line: _say(config, line))
    finally:
        for cluster in kept:
            cluster.stop()


def _options(config: pytest.Config, marker: pytest.Mark | None = None) -> dict[str, Any]:
    """Return the arguments of a cluster: the options of the ini file, which those of the marker replace.

    Raises:
        pytest.UsageError: An option is malformed or not known.
    """
    pairs = [str(line).partition("=") for line in config.getini("barnabas_settings")]
    bad = ["".join(pair) for pair in pairs if not pair[0].strip() or not pair[1]]
    if bad:
        raise pytest.UsageError(f"barnabas_settings: expected key=value a line, not {bad[0]!r}")
    try:
        options: dict[str, Any] = {
            "brokers": int(config.getini("barnabas_brokers")),
            "session_timeout_ms": int(config.getini("barnabas_session_timeout_ms")),
        }
    except ValueError as error:
        raise pytest.UsageError(f"barnabas_brokers and barnabas_session_timeout_ms: {error}") from error
    options["settings"] = {key.strip(): value.strip() for key, _, value in pairs}
    options["racks"] = tuple(config.getini("barnabas_racks"))
    given = {} if marker is None else dict(marker.kwargs)
    unknown = given.keys() - options.keys()
    if unknown or (marker is not None and marker.args):
        raise pytest.UsageError(
            f"pytest.mark.barnabas takes {', '.join(sorted(options))} by name, "
            f"not {', '.join(sorted(unknown)) or (marker and marker.args)}"
        )
    options["settings"] |= given.pop("settings", {})
    return {**options, **given}


def _say(config: pytest.Config, line: str) -> None:
    """Write a line to the terminal, past pytest's capture; a worker of pytest-xdist has none."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    capture = config.pluginmanager.get_plugin("capturemanager")
    if terminal is not None:
        with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
            terminal.ensure_newline()
            terminal.write_line(line, flush=True)


def _start(
    config: pytest.Config, tmp_path_factory: pytest.TempPathFactory, marker: pytest.Mark | None = None
) -> Cluster:
    """Start a cluster; after a failure once more, with the reason on the terminal.

    The failure of a test whose cluster does not start is a message without frames of this package.
    """
    from barnabas.local.errors import ClusterError
    from barnabas.local.zookeeper_jars import ZooKeeperStartError
    from barnabas.testing.cluster import Cluster

    options = _options(config, marker)
    reason = ""
    for _ in range(_ATTEMPTS):
        if reason:
            _say(config, f"barnabas: {reason}; trying once more")
        try:
            return Cluster(**options, directory=tmp_path_factory.mktemp("barnabas")).__enter__()
        except (ClusterError, ZooKeeperStartError, OSError) as error:
            reason = f"the cluster did not start: {error}"
        except ValueError as error:  # an option is wrong, or there is no free port
            reason = str(error)
            break
    pytest.fail(f"barnabas: {reason}", pytrace=False)


def _keep(request: pytest.FixtureRequest, cluster: Cluster) -> bool:
    """Return whether a cluster stays as the test left it, for ``--barnabas-keep``; run no more tests then."""
    if not (request.config.getoption("barnabas_keep") and request.node.stash.get(_FAILED, False)):
        return False
    request.config.stash[_KEPT].append(cluster)
    request.session.shouldfail = "--barnabas-keep"
    return True


@pytest.fixture(scope="session")
def barnabas_cluster(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Provide the cluster of the whole run; after each test its faults and what it made are removed."""
    cluster = _start(pytestconfig, tmp_path_factory)
    try:
        pytestconfig.stash[_CLUSTER] = cluster
        pytestconfig.stash[_CHECKPOINT] = cluster.checkpoint()
        yield cluster
    finally:
        if cluster not in pytestconfig.stash[_KEPT]:
            cluster.stop()


@pytest.fixture
def fresh_barnabas_cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Provide a cluster for one test, with the options of its marker ``barnabas``."""
    cluster = _start(request.config, tmp_path_factory, request.node.get_closest_marker("barnabas"))
    try:
        yield cluster
    finally:
        if not _keep(request, cluster):
            cluster.stop()


@pytest.fixture(autouse=True)
def _barnabas_restored(request: pytest.FixtureRequest) -> Iterator[None]:
    """Restore the session's cluster after a test; what fixtures of a wider scope created stays.

    A test that gets the cluster by ``getfixturevalue`` is noticed afterwards. It is restored to the last
    checkpoint before.
    """
    if _FIXTURE in request.fixturenames:
        cluster: Cluster = request.getfixturevalue(_FIXTURE)
        request.config.stash[_CHECKPOINT] = cluster.checkpoint()
    yield
    if _FIXTURE in request.fixturenames and _CLUSTER in request.config.stash:
        cluster = request.config.stash[_CLUSTER]
        if not _keep(request, cluster):
            cluster.restore(request.config.stash[_CHECKPOINT])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note when the test begins."""
    item.stash[_SINCE] = time.time()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the story of each cluster to the report of a failed test."""
    report = yield
    if report.failed and _SINCE in item.stash:
        item.stash[_FAILED] = True
        report.sections += _sections(item.stash[_SINCE])
    return report


def _sections(since: float) -> list[tuple[str, str]]:
    """Return a title and a text for each cluster with an event during the test."""
    from barnabas.testing.handle import LIVE
    from barnabas.testing.story import stamp

    if LIVE:
        time.sleep(_FLUSHED_S)
    found = []
    for cluster in LIVE:
        story = cluster.story(stamp(since))
        if story:
            found.append(
                ("Barnabas cluster during this test", "\n".join([*story, f"logs: {cluster.logs_at}"]))
            )
    return found
