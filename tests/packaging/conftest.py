"""The distributions, and venvs in which nothing but the wheel and what it asks for is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from barnabas.local import zookeeper_jars

ROOT = Path(__file__).parents[2]

EVERY_PYTHON = os.environ.get("EVERY_PYTHON") == "1"
"""Set by `make packaging`: all Pythons at hand, from Git, and ZooKeeper's jars by download."""

NOT_IN_GIT = shutil.ignore_patterns(
    ".git", ".venv", ".*_cache", ".hypothesis", "__pycache__", "*_pb2*", "build", "dist", "*.egg-info"
)


def pythons() -> list[str]:
    """The interpreters to try: this one, or each version from 3.11 that is at hand."""
    if not EVERY_PYTHON:
        return [sys.executable]
    names = [f"python3.{minor}" for minor in range(11, 20)]
    versions = Path(os.environ.get("PYENV_ROOT", "/nowhere"), "versions")
    managed = [str(found) for name in names for found in versions.glob(f"*/bin/{name}")]
    at_hand = [found for name in names if (found := shutil.which(name)) and "shims" not in found]
    by_version = {Path(found).name: found for found in [*managed, *at_hand]}
    return sorted(by_version.values(), key=lambda found: int(Path(found).name.partition(".")[2]))


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with the variables of `clean_environment` and `environment`."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=clean_environment() | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def clean_environment() -> dict[str, str]:
    """The environment without what points Python, or us, at the checkout."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "BARNABAS_", "VIRTUAL_ENV", "PYTEST_", "JAVA_HOME"))
    }


@pytest.fixture(scope="session")
def sources(tmp_path_factory) -> Path:
    """A copy of the checkout without anything that is generated."""
    return shutil.copytree(
        ROOT, tmp_path_factory.mktemp("sources") / "barnabas", symlinks=True, ignore=NOT_IN_GIT
    )


@dataclass(frozen=True)
class Distributions:
    """A source distribution, and the wheel that was built from it."""

    sdist: Path
    wheel: Path


@pytest.fixture(scope="session")
def distributions(sources, tmp_path_factory) -> Distributions:
    """Both, built as for a release: the wheel from the unpacked source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    built = run(sys.executable, "-m", "build", "--outdir", folder, sources, cwd=folder)
    assert built.returncode == 0, built.stdout + built.stderr
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return Distributions(sdist, wheel)


@dataclass(frozen=True)
class Installed:
    """A venv with the wheel, and a folder of a user that has a `cluster/` of its own."""

    venv: Path
    folder: Path
    environment: dict[str, str]

    def run(self, program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a program of the venv in the user's folder."""
        return run(self.venv / "bin" / program, *arguments, cwd=self.folder, **self.environment)


@pytest.fixture(scope="session", params=pythons(), ids=lambda path: Path(path).name)
def python(request) -> str:
    """A Python at hand."""
    return request.param


def install(python: str, home: Path, *wanted: str) -> Installed:
    """Install something into a fresh venv below ``home``."""
    venv, folder = home / "venv", home / "work"
    (folder / "cluster").mkdir(parents=True)
    (folder / "cluster" / "__init__.py").write_text("raise ImportError('a package of the user')\n")
    for command in (
        (python, "-m", "venv", venv),
        (venv / "bin" / "python", "-m", "pip", "install", "--quiet", *wanted),
    ):
        done = run(*command, cwd=home)
        assert done.returncode == 0, done.stdout + done.stderr
    environment = {"XDG_CACHE_HOME": str(home / "cache"), "COLUMNS": "80"}
    if not EVERY_PYTHON:  # the jars of this venv's pyspark: nothing is downloaded
        environment[zookeeper_jars.FOLDER] = str(zookeeper_jars.find_jars()[0].parent)
    return Installed(venv, folder, environment)


@pytest.fixture(scope="session")
def installed(python, distributions, tmp_path_factory) -> Installed:
    """A fresh venv of a Python with the wheel."""
    return install(python, tmp_path_factory.mktemp("home"), str(distributions.wheel))


@pytest.fixture(scope="session")
def installed_with_spark(python, distributions, tmp_path_factory) -> Iterator[Installed]:
    """A fresh venv of a Python with the wheel and the extra ``spark``, which is large."""
    home = tmp_path_factory.mktemp("home")
    yield install(python, home, f"{distributions.wheel}[spark]")
    shutil.rmtree(home / "venv")


@pytest.fixture(scope="session")
def installed_with_java(python, distributions, tmp_path_factory) -> Installed:
    """A fresh venv of a Python with the wheel and the extra ``java``, and no other Java on its path."""
    java = install(python, tmp_path_factory.mktemp("home"), f"{distributions.wheel}[java]")
    java.environment["PATH"] = str(java.venv / "bin")
    assert shutil.which("java", path=java.environment["PATH"]) is None
    return java


@pytest.fixture(scope="session")
def installed_from_git(python, sources, tmp_path_factory) -> Installed:
    """A fresh venv of a Python, into which pip installed a Git repository by its URL."""
    home = tmp_path_factory.mktemp("home")
    repository = tmp_path_factory.mktemp("git") / "barnabas.git"
    git = (
        "git",
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t",
        "--git-dir",
        repository,
        "--work-tree",
        sources,
    )
    for command in (
        ("git", "init", "-q", "--bare", repository),
        (*git, "add", "-A"),
        (*git, "commit", "-q", "-m", "all"),
    ):
        done = run(*command, cwd=sources)
        assert done.returncode == 0, done.stdout + done.stderr
    return install(python, home, f"git+file://{repository}")
