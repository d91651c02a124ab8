"""scripts/setup on machines that lack something: one line that names it. No package is installed here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SETUP = Path(__file__).parents[2] / "scripts" / "setup"


def program(path, script):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def java(home, version):
    """A JAVA_HOME whose java tells this version."""
    program(home / "bin" / "java", f"echo 'openjdk version \"{version}\"' >&2")
    return home


def setup_line(**environment):
    """What a setup that fails prints."""
    done = subprocess.run(
        [SETUP],
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.parametrize(
    ("version", "major"), [("1.8.0_392", "8"), ("11.0.21", "11"), ("25", "25"), ("odd", "of unknown version")]
)
def test_an_unfit_java_is_named_by_its_release(tmp_path, version, major):
    line = setup_line(JAVA_HOME=java(tmp_path, version))
    assert line.startswith(f"barnabas: needs Java 17 or 21, found Java {major} at {tmp_path}/bin/java;")


def test_an_unfit_python_is_not_taken(tmp_path):
    line = setup_line(JAVA_HOME=java(tmp_path, "21.0.2"), PYTHON=program(tmp_path / "python", "exit 1"))
    assert line.startswith("barnabas: needs Python 3.11 or newer;")


def test_paths_may_have_blanks(tmp_path):
    # New enough, but without venv: the check after the one that finds it.
    python = program(tmp_path / "my programs" / "python3.11", 'case "$2" in *venv*) exit 1 ;; esac')
    line = setup_line(JAVA_HOME=java(tmp_path / "my java", "17.0.15"), PYTHON=python)
    assert line == "barnabas: needs Python's venv module; install python3.11-venv"
