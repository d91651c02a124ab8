"""Fixtures that every test may use."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from barnabas.zookeeper import EmbeddedZooKeeper

_chroots = itertools.count(1)


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedZooKeeper]:
    """A real ZooKeeper server for the whole run; a test that stops or kills one starts its own."""
    with EmbeddedZooKeeper(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture
def zk_connect(zookeeper: EmbeddedZooKeeper) -> str:
    """A connect string with a chroot that no other test uses (not created yet: the session creates it)."""
    return f"{zookeeper.address}/test-{next(_chroots)}"
