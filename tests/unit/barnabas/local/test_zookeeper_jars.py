"""Where the jars of the embedded ZooKeeper come from."""

from __future__ import annotations

import hashlib
import types
from pathlib import Path

import pytest

from barnabas.local import zookeeper_jars
from barnabas.local.zookeeper_jars import Jar, ZooKeeperStartError, cache_folder, find_jars, wanted

JARS = ("zookeeper", "slf4j-api")


def path_of(artifact: str, version: str = "1.2") -> str:
    return f"org/x/{artifact}/{version}/{artifact}-{version}.jar"


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Maven repository of two jars, with nothing in the cache and no pyspark."""
    root = tmp_path / "maven"
    for artifact in JARS:
        file = root / path_of(artifact)
        file.parent.mkdir(parents=True)
        file.write_bytes(artifact.encode())
    jars = tuple(Jar(path_of(name), hashlib.sha256(name.encode()).hexdigest()) for name in JARS)
    monkeypatch.setattr(zookeeper_jars, "wanted", lambda: (root.as_uri(), jars))
    monkeypatch.setattr(zookeeper_jars.importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in (zookeeper_jars.FOLDER, zookeeper_jars.REPOSITORY):
        monkeypatch.delenv(name, raising=False)
    return root


def a_folder(folder: Path, *files: str) -> Path:
    folder.mkdir(parents=True)
    for file in files:
        (folder / file).touch()
    return folder


def test_every_jar_has_a_checksum_and_a_version_in_its_name() -> None:
    address, jars = wanted()
    assert address.startswith("https://")
    for jar in jars:
        assert len(bytes.fromhex(jar.sha256)) == 32
        assert Path(jar.file).match(jar.pattern)


def test_jars_are_downloaded_once(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = find_jars()
    assert [jar.name for jar in first] == ["zookeeper-1.2.jar", "slf4j-api-1.2.jar"]
    assert first[0].parent == tmp_path / "cache" / "barnabas" / "zookeeper"
    assert "downloading 2 jars" in capsys.readouterr().err
    (repository / path_of("zookeeper")).unlink()
    assert find_jars() == first
    assert capsys.readouterr().err == ""


def test_only_what_is_missing_is_downloaded(capsys: pytest.CaptureFixture[str]) -> None:
    first = find_jars()
    first[1].unlink()
    capsys.readouterr()
    assert find_jars() == first
    assert "downloading 1 jars" in capsys.readouterr().err


def test_a_jar_with_another_checksum_is_not_kept(repository: Path, tmp_path: Path) -> None:
    (repository / path_of("slf4j-api")).write_bytes(b"something else")
    with pytest.raises(ZooKeeperStartError, match=r"slf4j-api-1\.2\.jar has the checksum .*, expected"):
        find_jars()
    kept = [file.name for file in (tmp_path / "cache" / "barnabas" / "zookeeper").iterdir()]
    assert kept == ["zookeeper-1.2.jar"]


def test_a_repository_that_does_not_answer_says_what_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(zookeeper_jars.REPOSITORY, (tmp_path / "nowhere").as_uri())
    with pytest.raises(ZooKeeperStartError, match=r"cannot download file:.*BARNABAS_ZOOKEEPER_JARS"):
        find_jars()


def test_another_repository_is_asked_if_the_environment_names_one(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = repository.rename(tmp_path / "mirror")
    monkeypatch.setenv(zookeeper_jars.REPOSITORY, moved.as_uri() + "/")
    assert len(find_jars()) == 2


def test_a_named_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = a_folder(
        tmp_path / "jars", "zookeeper-3.9.4.jar", "zookeeper-jute-3.9.4.jar", "slf4j-api-2.0.1.jar"
    )
    monkeypatch.setenv(zookeeper_jars.FOLDER, str(folder))
    assert [jar.name for jar in find_jars()] == ["zookeeper-3.9.4.jar", "slf4j-api-2.0.1.jar"]


def test_a_folder_without_a_jar_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(zookeeper_jars.FOLDER, str(a_folder(tmp_path / "jars", "zookeeper-3.9.4.jar")))
    with pytest.raises(ZooKeeperStartError, match=r"jars has no slf4j-api-\[0-9\]\*\.jar"):
        find_jars()


def test_the_jars_of_pyspark_save_a_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    jars = a_folder(tmp_path / "pyspark" / "jars", "zookeeper-3.9.5.jar", "slf4j-api-2.0.17.jar")
    spec = types.SimpleNamespace(submodule_search_locations=[str(jars.parent)])
    monkeypatch.setattr(zookeeper_jars.importlib.util, "find_spec", {"pyspark": spec}.get)
    assert {jar.parent for jar in find_jars()} == {jars}
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({}, ".cache"), ({"XDG_CACHE_HOME": "relative"}, ".cache"), ({"XDG_CACHE_HOME": "/c"}, "/c")],
)
def test_cache_folder(environment: dict[str, str], expected: str) -> None:
    assert cache_folder(environment) == Path.home() / expected / "barnabas"


def test_some_jars_are_for_a_secured_server_alone(monkeypatch: pytest.MonkeyPatch, repository: Path) -> None:
    address, (zookeeper, slf4j) = zookeeper_jars.wanted()
    secure = Jar(slf4j.path, slf4j.sha256, secure=True)
    monkeypatch.setattr(zookeeper_jars, "wanted", lambda: (address, (zookeeper, secure)))
    assert [jar.name for jar in find_jars()] == ["zookeeper-1.2.jar"]
    assert [jar.name for jar in find_jars(secure=True)] == ["zookeeper-1.2.jar", "slf4j-api-1.2.jar"]
