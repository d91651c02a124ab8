"""The Java process of a local session, started without the detours of ``spark-submit``.

PySpark starts it through shell scripts and a further Java process, which only computes a command line.
Here that command is computed once and kept in the cache folder, together with an archive of the classes that
the second run loaded (JEP 350): later ones map it into memory and neither parse nor verify these classes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

import pyspark
from py4j.java_gateway import JavaGateway
from pyspark import SparkConf
from pyspark.errors import PySparkRuntimeError
from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway

_LAUNCH: Callable[..., JavaGateway] = launch_gateway
_COMMAND = "command.json"
_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
_POLL_S = 0.01
_abandoned = threading.Event()
_started: list[subprocess.Popen[bytes]] = []

_CONFIGURING = ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "PYSPARK_SUBMIT_ARGS")
"""Variables besides those of Spark which the scripts read and that change the command."""

_NEUTRAL = ("SPARK_LOCAL_IP", "SPARK_LOCAL_DIRS", "SPARK_LOCAL_HOSTNAME", "SPARK_USER")
"""Variables of Spark that change nothing of the command; the Java process reads them itself."""


def start(options: Sequence[str], log4j: Path, words: IO[str]) -> JavaGateway:
    """Start Java with these options and connect to it.

    Args:
        options: Options of Java.
        log4j: The file with the properties of Log4j, which is read only at the start.
        words: The file for what the process writes.

    Raises:
        PySparkRuntimeError: Java is not installed or did not start.
    """
    home = Path(_find_spark_home())
    java = shutil.which(_java(os.environ))
    logged = f"-Dlog4j2.configurationFile={log4j.as_uri()}"
    if java is None or not _is_plain(os.environ, home):
        conf = SparkConf().set("spark.driver.extraJavaOptions", " ".join([logged, *options]))
        connected = _LAUNCH(conf, {"stderr": words})
        _started.append(connected.proc)
        return connected
    kept = _kept(Path(java).resolve(), home)
    sharing = _sharing(kept, options)
    command = _command(java, home, kept)
    command[1:1] = [logged, *options, *sharing]
    return _connect(command, words)


def abandon() -> None:
    """End the Java process at once, if this process started one; later requests of threads fail."""
    _abandoned.set()
    for process in _started:
        process.kill()


def is_abandoned() -> bool:
    """Return whether ``abandon`` was called: then no session can be stopped in an orderly way."""
    return _abandoned.is_set()


def outlive() -> None:
    """Wait until abandoned Java processes are gone: until then they may write files."""
    if is_abandoned():
        for process in _started:
            process.wait()


def _sharing(kept: Path | None, options: Sequence[str]) -> list[str]:
    """Return the options for the archive of classes: to use it, or to make it when the process ends.

    Making it takes longer than it saves once. It is made by the second run, because a container that is
    removed after its only run would make it in vain; then the command of the first run is there.
    """
    if kept is None or not (kept / _COMMAND).is_file():
        return []
    # Another garbage collector lays objects out in another way, so the archive's name contains the options.
    name = hashlib.sha256(" ".join(options).encode()).hexdigest()[:8]
    archive = kept / f"classes-{name}.jsa"
    use = "SharedArchiveFile" if _is_whole(archive) else "ArchiveClassesAtExit"
    # Java would write warnings about an archive to the standard output.
    return [f"-XX:{use}={archive}", "-Xshare:auto", "-Xlog:disable", "-Xlog:all=off"]


def _is_whole(archive: Path) -> bool:
    """Return whether an archive was written to its end: Java writes the header last, with a magic number."""
    try:
        with archive.open("rb") as file:
            return any(file.read(4))
    except OSError:
        return False


def _java(environment: Mapping[str, str]) -> str:
    home = environment.get("JAVA_HOME")
    return f"{home}/bin/java" if home else "java"


def _is_plain(environment: Mapping[str, str], home: Path) -> bool:
    """Return whether nobody has configured this Spark, so that its scripts would only start Java."""
    given = (name for name in environment if name.startswith("SPARK_") or name in _CONFIGURING)
    return os.name == "posix" and not (home / "conf").exists() and all(name in _NEUTRAL for name in given)


def _kept(java: Path, home: Path) -> Path | None:
    """Return the folder in which the command and the archive are kept; None if none can be made.

    An archive is code, so nobody else may write to the folder.
    """
    version = (pyspark.__version__, str(home), str(java), str(java.stat().st_mtime_ns))
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    name = hashlib.sha256("\0".join(version).encode()).hexdigest()[:16]
    try:
        folder = (base if base.is_absolute() else Path.home() / ".cache") / "barnabas" / "spark" / name
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = folder.stat()
    except (OSError, RuntimeError):
        return None
    return folder if found.st_uid == os.geteuid() and not found.st_mode & 0o022 else None


def _command(java: str, home: Path, kept: Path | None) -> list[str]:
    """Return the command that ``spark-class`` executes, as Spark's launcher computes it."""
    path = None if kept is None else kept / _COMMAND
    if path is not None:
        with contextlib.suppress(OSError, ValueError):
            return list(json.loads(path.read_text(encoding="utf-8")))
    asked = [java, "-Xmx128m", "-cp", f"{home}/jars/*", "org.apache.spark.launcher.Main"]
    asked += ["org.apache.spark.deploy.SparkSubmit", "pyspark-shell"]
    scala = next((jar.name for jar in home.glob("jars/spark-core_*.jar")), "_-").split("_")[1].split("-")[0]
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_SCALA_VERSION": scala,
        "SPARK_CONNECT_MODE": "0",
    }
    done = subprocess.run(asked, env=environment, capture_output=True, check=False)
    # The launcher writes an empty line and then the words, each ended by NUL.
    command = done.stdout.decode().lstrip("\0\n").rstrip("\0").split("\0")
    if done.returncode != 0 or len(command) < 2:
        raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
    if path is not None:
        aside = path.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            aside.write_text(json.dumps(command), encoding="utf-8")
            aside.replace(path)
    return command


def _connect(command: Sequence[str], words: IO[str]) -> JavaGateway:
    with tempfile.TemporaryDirectory(prefix="barnabas-gateway-") as scratch:
        info = Path(scratch) / "connection"
        environment = os.environ | {
            "SPARK_CONNECT_MODE": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(info),
        }
        # A session of its own, because a signal to the group of this process is for this process to answer:
        # Java ends when its standard input does.
        process = subprocess.Popen(
            command, env=environment, start_new_session=True,
            stdin=subprocess.PIPE, stdout=words, stderr=words,
        )  # fmt: skip
        _started.append(process)
        if is_abandoned():
            # The signal that killed the others arrived before this one was known.
            process.kill()
        while process.poll() is None and not info.is_file():
            time.sleep(_POLL_S)
        if not info.is_file():
            raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
        content = info.read_bytes()
    # As PythonGatewayServer writes it: the port, the length of the secret, the secret.
    port, length = struct.unpack_from(">ii", content)
    os.environ |= {_PORT: str(port), _SECRET: content[8 : 8 + length].decode()}
    try:
        return _LAUNCH()
    finally:
        # These variables mean spark-submit to everybody else.
        del os.environ[_PORT], os.environ[_SECRET]
