"""What a cluster for tests imports before its processes start."""

from __future__ import annotations

import json
import subprocess
import sys


def test_little_is_imported_before_the_process_that_forks_brokers_starts() -> None:
    code = "import json, sys, barnabas.testing.cluster; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert "barnabas.local.forks" in loaded
    assert not loaded & {"asyncio", "kazoo", "ssl", "urllib.request", "barnabas.local.cluster"}
