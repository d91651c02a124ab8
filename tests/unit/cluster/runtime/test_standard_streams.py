from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import os, sys
from barnabas.cluster.runtime.standard_streams import open_missing
open_missing()
opened = os.open({file!r}, os.O_RDWR | os.O_CREAT)
for stream in (sys.stdout, sys.stderr):
    stream.write("a library prints")
    stream.flush()
os.write(2, b"a library prints")
sys.exit(opened)
"""


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_no_file_takes_the_place_of_a_closed_stream(tmp_path, closed):
    file = tmp_path / "segment"
    command = f'exec {sys.executable} -c "$0" {closed}'
    done = subprocess.run(
        ["sh", "-c", command, SCRIPT.format(file=str(file))], check=False, timeout=60, capture_output=True
    )
    assert done.returncode > 2
    assert file.read_bytes() == b""
