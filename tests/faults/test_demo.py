"""The story of the demo, all of it, as CI sees it: without a terminal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DEMO = [str(Path(sys.executable).with_name("barnabas")), "demo"]


@pytest.mark.faults
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_the_demo_tells_its_story_and_loses_nothing(tmp_path):
    picture = tmp_path / "demo.svg"
    told = subprocess.run([*DEMO, "--picture", str(picture)], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    sentences = (
        "of 6 partitions; none led more.",
        "the controller.",
        "is back",
        "acknowledged",
        "lost",
        "duplicated",
    )
    for sentence in sentences:
        assert sentence in told.stdout
    _, said, report = told.stdout.partition("What the brokers' logs say")
    assert said
    assert "no shutdown logged" in report
    assert "The whole cluster" not in report  # it is stopped only after the report
    assert picture.read_text().startswith("<svg")
