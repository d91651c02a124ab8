"""What a cluster for tests imports before its processes start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.testing import handle


def test_little_is_imported_before_the_process_that_forks_brokers_starts() -> None:
    code = "import json, sys, barnabas.testing.cluster; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert "barnabas.local.forks" in loaded
    assert not loaded & {"asyncio", "kazoo", "ssl", "urllib.request", "barnabas.local.cluster"}


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
        live = [handle.Facts(each) for each in handles]
        assert live == handle.LIVE
        await handles[0].stop()
        assert live[1:] == handle.LIVE
    finally:
        for each in handles:
            each.close()
