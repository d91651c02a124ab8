"""A commit's subject has at most 72 characters (CONTRIBUTING.md, Rules)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAST_LONG_SUBJECT = "e1f9cef14a6f89306c49a916325d2ca54fc3fd2a"
SUBJECT_LENGTH_MAX = 72


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_subject_fits_on_a_line() -> None:
    if git("cat-file", "-e", f"{LAST_LONG_SUBJECT}^{{commit}}").returncode != 0:
        pytest.skip("this is no checkout with the whole history")
    log = git("log", "--no-merges", "--format=%h %s", f"{LAST_LONG_SUBJECT}..HEAD")
    assert log.returncode == 0, log.stderr
    subjects = [line.partition(" ")[2] for line in log.stdout.splitlines()]
    assert [subject for subject in subjects if len(subject) > SUBJECT_LENGTH_MAX] == []
