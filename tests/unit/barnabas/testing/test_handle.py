"""What a cluster for tests imports before its processes start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.testing import AsyncCluster, Cluster, handle


def test_little_is_imported_before_the_process_that_forks_brokers_starts() -> None:
    code = "import json, sys, barnabas.testing.cluster; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert "barnabas.local.forks" in loaded
    assert not loaded & {"asyncio", "kazoo", "ssl", "urllib.request", "barnabas.local.cluster"}


def test_each_method_to_await_has_one_that_blocks() -> None:
    def public(cluster: type) -> set[str]:
        return {name for name in dir(cluster) if not name.startswith("_")}

    assert public(Cluster) - public(AsyncCluster) == {"aio"}
    assert public(AsyncCluster) <= public(Cluster)
    assert Cluster.kill.__doc__ == AsyncCluster.kill.__doc__


async def test_clusters_are_told_apart_though_they_name_the_same_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Running:
        directory = Path("containers")

        async def stop(self) -> None:
            pass

    monkeypatch.setattr(handle, "LIVE", [])
    handles = [handle.Handle(Running()) for _ in range(2)]  # type: ignore[arg-type]  # only what is used here
    try:
        live = [handle.AnyCluster(handle=each) for each in handles]
        assert live == handle.LIVE
        await handles[0].stop()
        assert live[1:] == handle.LIVE
    finally:
        for each in handles:
            each.close()
