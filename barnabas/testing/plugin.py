"""The pytest plugin: clusters as fixtures, and their story in the report of a failed test.

This module is imported by every pytest run where Barnabas is installed, so it imports the rest when a test
asks for a cluster.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from barnabas.testing.cluster import Cluster
    from barnabas.testing.running import Checkpoint

_SINCE = pytest.StashKey[float]()

_FIXTURE = "barnabas_cluster"

_CLUSTER: pytest.StashKey[Cluster] = pytest.StashKey()
"""The session's cluster while it runs."""

_CHECKPOINT: pytest.StashKey[Checkpoint] = pytest.StashKey()
"""The checkpoint to which the session's cluster is restored."""

_FLUSHED_S = 0.25
"""The seconds after which a line of a broker's log is in its file (``cluster.runtime.statechange_log``)."""

_MARKER = (
    "barnabas(brokers=3, settings={}, session_timeout_ms=3000, racks=()): "
    "the cluster of fresh_barnabas_cluster, over the options barnabas_* of the ini file"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the ini file."""
    parser.addini("barnabas_brokers", "number of brokers of a cluster", default="3")
    parser.addini("barnabas_settings", "settings of all brokers, key=value", type="linelist")
    parser.addini("barnabas_session_timeout_ms", "zookeeper.session.timeout.ms", default="3000")
    parser.addini("barnabas_racks", "broker.rack of broker 1, 2 and so on", type="args")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", _MARKER)


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


@pytest.fixture(scope="session")
def barnabas_cluster(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Provide the cluster of the whole run; after each test its faults and what it made are removed."""
    from barnabas.testing.cluster import Cluster

    with Cluster(**_options(pytestconfig), directory=tmp_path_factory.mktemp("barnabas")) as cluster:
        pytestconfig.stash[_CLUSTER] = cluster
        pytestconfig.stash[_CHECKPOINT] = cluster.checkpoint()
        yield cluster


@pytest.fixture
def fresh_barnabas_cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Provide a cluster for one test, with the options of its marker ``barnabas``."""
    from barnabas.testing.cluster import Cluster

    options = _options(request.config, request.node.get_closest_marker("barnabas"))
    with Cluster(**options, directory=tmp_path_factory.mktemp("barnabas")) as cluster:
        yield cluster


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
        request.config.stash[_CLUSTER].restore(request.config.stash[_CHECKPOINT])


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
