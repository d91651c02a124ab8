"""A Spark session without log output, with our packages on every executor."""

from __future__ import annotations

import functools
import os
import signal
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

from py4j.java_gateway import JavaGateway
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from barnabas.analysis.runtime import gateway


class Amount(Enum):
    """The amounts of work for Spark's Java in a local run.

    Attributes:
        SMALL: It passes work to Python's processes, so its start matters more than its speed.
        LARGE: It reads files of other machines, or evaluates tables.
    """

    SMALL = "small"
    LARGE = "large"


_SHIPPED = ("analysis", "cluster/model")
"""The packages that executors need: the analysis, and the model, which imports only the standard library."""

_SETTINGS = {
    # Results are small, so 8 partitions are faster than Spark's 200; adaptive execution merges them further.
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Otherwise Spark would ask Java twice, for each call of its Python functions, where it stands in our
    # source.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Otherwise tasks of frames and others have different environments, and each kind its own workers.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    # Java sends rows to Python through a socket. On a busy machine Python may need longer than Spark's 15 s
    # to connect to it.
    "spark.python.authenticate.socketTimeout": "5min",
}
_LOCAL_SETTINGS = {
    "spark.master": "local[*]",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
_BRIEF_SETTINGS = {
    # A small query takes longer to compile, or to split into tasks, than to run.
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    # Broadcasting a small table would cost one more job.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.leafNodeDefaultParallelism": "1",
}
# The gateway's own logger is named because Spark announces every level that differs from it.
_LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""
_JAVA = {
    # Code that runs once is not worth optimizing: a run over 100 lines would take 40 s of CPU, not 18.
    Amount.SMALL: (
        "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
        # It shares the memory with Python's processes, which need more.
        "-XX:+UseSerialGC", "-Xms160m", "-Xmn64m", "-XX:MinHeapFreeRatio=10", "-XX:MaxHeapFreeRatio=30",
    ),
    Amount.LARGE: (),
}  # fmt: skip
"""Java's options."""
_TAIL_LINES = 5


class SparkStartError(Exception):
    """An error if Spark's Java process did not start, with the last lines of its standard error."""


@contextmanager
def spark_session(amount: Amount = Amount.LARGE) -> Iterator[SparkSession]:
    """Start a session and stop it at the end of the block.

    Under ``spark-submit`` the session has the master and settings given there. Otherwise it runs in this
    process on all cores and logs nothing.

    Args:
        amount: How much there is to do; only for local runs.

    Raises:
        SparkStartError: Java is not installed or does not start.
    """
    given = SparkConf()
    settings = _SETTINGS | (_BRIEF_SETTINGS if amount is Amount.SMALL else {})
    if not given.contains("spark.master"):
        settings |= _LOCAL_SETTINGS
    conf = given.setAppName("barnabas analyze")
    for key, value in settings.items():
        conf.setIfMissing(key, value)
    with _same_interrupt():
        is_given = "PYSPARK_GATEWAY_PORT" in os.environ
        context = SparkContext(conf=conf) if is_given else _local_context(conf, amount)
    context.setLogLevel("ERROR")
    session = SparkSession(context)
    try:
        with tempfile.TemporaryDirectory(prefix="barnabas-analyze-") as scratch:
            context.addPyFile(str(_package(Path(scratch))))
            yield session
    finally:
        if not gateway.is_abandoned():
            session.stop()


@contextmanager
def _same_interrupt() -> Iterator[None]:
    """Keep the handler of SIGINT in place of PySpark's, which calls Java amid a call that it interrupts."""
    former = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, former)


def _local_context(conf: SparkConf, amount: Amount) -> SparkContext:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return SparkContext(conf=conf, gateway=_gateway(amount))


@functools.cache
def _gateway(amount: Amount) -> JavaGateway:
    """Start the Java process once; all sessions of this process use it.

    Its standard error does not go to the terminal, because Java and Spark print a greeting there at any log
    level.
    """
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-spark-") as scratch,
        tempfile.TemporaryFile("w+") as words,
    ):
        logging = Path(scratch) / "log4j2.properties"
        logging.write_text(_LOG4J)
        try:
            return gateway.start(_JAVA[amount], logging, words)
        except PySparkRuntimeError as error:
            words.seek(0)
            tail = " | ".join(words.read().splitlines()[-_TAIL_LINES:])
            raise SparkStartError(f"Spark did not start; is Java 17 or 21 installed? {tail}") from error


def _package(scratch: Path) -> Path:
    # The package barnabas: its own name is not imported, because it stands above this one.
    root = Path(__file__).parents[2]
    archive = scratch / "barnabas-analysis.zip"
    with zipfile.ZipFile(archive, "w") as target:
        for shipped in _SHIPPED:
            for module in sorted((root / shipped).rglob("*.py")):
                target.write(module, module.relative_to(root.parent))
        for package in (root, root / "cluster"):
            target.write(package / "__init__.py", (package / "__init__.py").relative_to(root.parent))
    return archive
