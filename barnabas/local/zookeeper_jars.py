"""The Java and the jars of the embedded ZooKeeper, which are Apache ZooKeeper's from pyspark's wheel."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

MINIMUM_JAVA = 17
"""The oldest Java that pyspark 4 runs on; the server asks for the same, so that one Java serves both."""

_JARS = (
    "zookeeper-3.*.jar",
    "zookeeper-jute-*.jar",
    "slf4j-api-*.jar",
    "log4j-slf4j2-impl-*.jar",
    "log4j-api-*.jar",
    "metrics-core-*.jar",
    "snappy-java-*.jar",
)
"""All that a standalone server loads. log4j-core is left out: log4j-api's own simple logger suffices, and the
server starts a third faster."""


class ZooKeeperStartError(Exception):
    """An error if the embedded ZooKeeper cannot run; the message is one line that names the cause."""


def find_java() -> str:
    """Find the ``java`` of JAVA_HOME, else of PATH.

    Raises:
        ZooKeeperStartError: There is no Java, or it is older than ``MINIMUM_JAVA``.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if java is None:
        where = f"JAVA_HOME={home}" if home else "PATH"
        raise ZooKeeperStartError(f"no java found in {where}: install a Java {MINIMUM_JAVA} or 21 runtime")
    release = Path(java).resolve().parent.parent / "release"
    version = java_version(release.read_text(encoding="utf-8")) if release.is_file() else None
    if version is not None and version < MINIMUM_JAVA:
        raise ZooKeeperStartError(f"{java} is Java {version}: install a Java {MINIMUM_JAVA} or 21 runtime")
    return java


def java_version(release: str) -> int | None:
    """Return the feature version (17, 21; 8 for ``1.8.0``) in a JDK's ``release`` file; None without one."""
    for line in release.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "JAVA_VERSION":
            parts = value.strip().strip('"').split(".")
            number = parts[1] if parts[0] == "1" and len(parts) > 1 else parts[0]
            return int(number) if number.isdigit() else None
    return None


def find_jars() -> tuple[Path, ...]:
    """Find the server's jars in pyspark's package, which is not imported.

    Raises:
        ZooKeeperStartError: pyspark is not installed, or one of the jars is not there.
    """
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise ZooKeeperStartError(
            "the embedded ZooKeeper runs from pyspark's jars: install pyspark (pip install 'barnabas[spark]')"
        )
    folder = Path(spec.submodule_search_locations[0]) / "jars"
    found = []
    for pattern in _JARS:
        matches = sorted(folder.glob(pattern))
        if not matches:
            raise ZooKeeperStartError(
                f"{folder} has no {pattern}: install pyspark 4 (pip install 'barnabas[spark]')"
            )
        found.append(matches[-1])
    return tuple(found)
