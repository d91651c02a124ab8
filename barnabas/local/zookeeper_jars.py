"""The jars of the embedded ZooKeeper: from a folder, from pyspark's package, or from Maven Central.

``zookeeper_jars.toml`` lists them with versions and checksums. A download happens once: the jars are kept
below ``$XDG_CACHE_HOME/barnabas`` (``~/.cache/barnabas``).
"""

from __future__ import annotations

import hashlib
import http.client
import importlib.resources
import importlib.util
import os
import sys
import tempfile
import tomllib
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

FOLDER = "BARNABAS_ZOOKEEPER_JARS"
"""The environment variable that names a folder with the jars, of any version; then nothing is downloaded."""

REPOSITORY = "BARNABAS_MAVEN_URL"
"""The environment variable with the base address of another Maven repository than Maven Central."""

_ANSWER_S = 60.0
_AT_ONCE = 4


class ZooKeeperStartError(Exception):
    """An error if the embedded ZooKeeper cannot run; the message is one line that names the cause."""


@dataclass(frozen=True, slots=True)
class Jar:
    """A jar of a Maven repository.

    Attributes:
        path: The path below the repository's address: group, artifact, version and file.
        sha256: The checksum of the file, in hexadecimal digits.
        secure: Whether only a server with TLS or SASL needs it.
    """

    path: str
    sha256: str
    secure: bool = False

    @property
    def file(self) -> str:
        """The name of the file."""
        return self.path.rpartition("/")[2]

    @property
    def pattern(self) -> str:
        """A glob for the same artifact of any version."""
        return f"{self.path.split('/')[-3]}-[0-9]*.jar"


def find_jars(*, secure: bool = False) -> tuple[Path, ...]:
    """Find the server's jars, or download them with a line on standard error.

    A folder that ``BARNABAS_ZOOKEEPER_JARS`` names comes first, then the package pyspark (the extra
    ``spark``), then the cache, and last the repository.

    Args:
        secure: Whether the server has TLS or SASL.

    Raises:
        ZooKeeperStartError: The named folder lacks a jar, or one cannot be downloaded.
    """
    repository, every = wanted()
    jars = tuple(jar for jar in every if secure or not jar.secure)
    named = os.environ.get(FOLDER)
    if named:
        return _in_folder(Path(named), jars)
    spark = _spark_folder()
    if spark is not None:
        return _in_folder(spark, jars)
    return fetch(jars, repository, "zookeeper")


def fetch(jars: Sequence[Jar], repository: str, product: str) -> tuple[Path, ...]:
    """Return the paths of jars in the cache, and download those that are missing.

    Args:
        jars: The jars.
        repository: The address of the repository, unless ``BARNABAS_MAVEN_URL`` names another one.
        product: What needs them, which is the name of the folder.

    Raises:
        ZooKeeperStartError: One cannot be downloaded.
    """
    cache = cache_folder(os.environ) / product
    missing = [jar for jar in jars if not (cache / jar.file).is_file()]
    if missing:
        _download(os.environ.get(REPOSITORY) or repository, missing, cache)
    return tuple(cache / jar.file for jar in jars)


def wanted() -> tuple[str, tuple[Jar, ...]]:
    """Return the address of the repository, and all jars that a server may load."""
    text = importlib.resources.files(__package__).joinpath("zookeeper_jars.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    return table["repository"], tuple(Jar(**entry) for entry in table["jar"])


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder for downloaded files, as the XDG Base Directory Specification has it."""
    base = environment.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "barnabas"


def _spark_folder() -> Path | None:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "jars"


def _in_folder(folder: Path, jars: Sequence[Jar]) -> tuple[Path, ...]:
    found = [sorted(folder.glob(jar.pattern)) for jar in jars]
    for jar, matches in zip(jars, found, strict=True):
        if not matches:
            raise ZooKeeperStartError(
                f"{folder} has no {jar.pattern}, which ZooKeeper needs: set {FOLDER} to a folder that has it"
            )
    return tuple(matches[-1] for matches in found)


def _download(repository: str, jars: Sequence[Jar], folder: Path) -> None:
    sys.stderr.write(f"barnabas: downloading {len(jars)} jars into {folder} (once)\n")
    sys.stderr.flush()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="download") as threads:
            list(threads.map(lambda jar: _fetch(repository.rstrip("/"), jar, folder), jars))
    except OSError as error:
        raise ZooKeeperStartError(f"jars cannot be kept in {folder}: {error}") from error


def _fetch(repository: str, jar: Jar, folder: Path) -> None:
    """Download a jar, check it, and move it to its place in one step, as another process may do the same."""
    url = f"{repository}/{jar.path}"
    try:
        with urllib.request.urlopen(url, timeout=_ANSWER_S) as answer:
            content = answer.read()
    except (OSError, ValueError, http.client.HTTPException) as error:
        why = error.reason if isinstance(error, urllib.error.URLError) else error
        raise ZooKeeperStartError(
            f"cannot download {url}: {why}. Without a network, set {FOLDER} to a folder with ZooKeeper's "
            f"jars (`barnabas fetch-jars` makes one on a machine with a network), or {REPOSITORY} to a Maven "
            f"repository that answers; pip install 'barnabas[spark]' brings them, too"
        ) from error
    checksum = hashlib.sha256(content).hexdigest()
    if checksum != jar.sha256:
        raise ZooKeeperStartError(f"{url} has the checksum {checksum}, expected {jar.sha256}: not used")
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".part", delete=False) as file:
        file.write(content)
    Path(file.name).replace(folder / jar.file)
