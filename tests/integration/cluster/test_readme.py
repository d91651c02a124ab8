"""What the README tells a newcomer to type works as it stands, but for the port."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text()


def test_the_first_topic_of_the_readme(cluster):
    bootstrap = cluster.brokers[1].kafka
    (create,) = re.findall(r"^\$ (scripts/kafka-topics\.sh .* --create .*)$", README, re.MULTILINE)
    command = create.replace("localhost:9092", bootstrap).split()
    subprocess.run(command, cwd=ROOT, check=True, timeout=60)

    (snippet,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    told = subprocess.run(
        [sys.executable, "-c", snippet.replace("localhost:9092", bootstrap)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert told.stdout.splitlines() == ["0", "[b'hello']"]


def test_every_file_that_the_readme_points_to_is_there():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / target).is_file(), target
