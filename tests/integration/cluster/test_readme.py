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

    (snippet,) = re.findall(r"```python\n(from kafka import.*?)```", README, re.DOTALL)
    told = subprocess.run(
        [sys.executable, "-c", snippet.replace("localhost:9092", bootstrap)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert told.stdout.splitlines() == ["0", "[b'hello']"]


def test_the_pytest_recipe_of_the_readme(tmp_path):
    (recipe,) = re.findall(r"```python\n(from confluent_kafka.*?)```", README, re.DOTALL)
    (tmp_path / "test_recipe.py").write_text(recipe)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_recipe.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=240)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_every_file_that_the_readme_points_to_is_there():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).is_file(), target
