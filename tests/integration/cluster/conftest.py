"""A cluster of three real brokers for the modules that kill brokers or hold up their fetchers."""

from __future__ import annotations

import pytest

from tests.clusters import FAULTS


@pytest.fixture(scope="module")
def cluster(request, shared_clusters):
    with shared_clusters.lent(request.session, getattr(request.module, "OVERRIDES", FAULTS)) as running:
        yield running
