"""server.log: the lines of structlog, and those of libraries with a limit."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import structlog

from barnabas.cluster.runtime.line_clock import LineClock
from barnabas.cluster.runtime.line_limit import LibraryLines
from barnabas.cluster.runtime.rolling_file import HourlyRollingFile

FILE_NAME = "server.log"
AUTHORIZER_FILE_NAME = "kafka-authorizer.log"

_LEVELS = {"TRACE": logging.DEBUG, "WARN": logging.WARNING}
_KAFKA_NAMES = {"warning": "WARN", "critical": "FATAL", "exception": "ERROR"}
_LIBRARIES = {
    "asyncio": logging.WARNING,
    "grpc": logging.WARNING,
    # kazoo warns at each attempt to connect; the broker itself logs once that ZooKeeper is unavailable.
    "kazoo": logging.ERROR,
}
_LAYOUT = "\n\t"
"""The characters by which a message of several lines, such as the settings at the start, is laid out."""

_NOT_FIELDS = ("event", "level", "logger", "stamp", "exception")


class _RollingHandler(logging.Handler):
    """A handler for an hourly rolled file that flushes each line, because server.log is read after crashes.

    If the disk fails, that is reported once on standard error, until lines are written again.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = HourlyRollingFile(path, LineClock().now())
        self._is_refused = False

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._file.roll_if_due(LineClock().now())
            self._file.write(self.format(record) + "\n")
            self._file.flush()
            self._is_refused = False
        except (OSError, ValueError):
            if not self._is_refused:
                self.handleError(record)
            self._is_refused = True

    def close(self) -> None:
        with contextlib.suppress(OSError):  # the lost lines were reported before
            self._file.close()
        super().close()


class _Stamp:
    """A processor that adds the timestamp to an event, from any thread."""

    def __init__(self) -> None:
        self._clock = LineClock()
        self._lock = threading.Lock()

    def __call__(
        self, _logger: Any, _method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        with self._lock:
            event["stamp"] = self._clock.stamp()
        return event


def as_kafka_line(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> str:
    """Format an event in log4j's ``[%d] %p %m (%c)%n``; fields follow the message as ``name=value``."""
    level = str(event.get("level", "info"))
    fields = "".join(
        f" {k}={_escaped(str(v))}" for k, v in event.items() if k not in _NOT_FIELDS and not k.startswith("_")
    )
    line = (
        f"[{event.get('stamp', '')}] {_KAFKA_NAMES.get(level, level.upper())} "
        f"{_escaped(str(event.get('event', '')), kept=_LAYOUT)}{fields} ({event.get('logger') or 'root'})"
    )
    return f"{line}\n{event['exception']}" if event.get("exception") else line


def _escaped(text: str, kept: str = "") -> str:
    """Escape what would break or forge a line: clients choose names in it."""
    if text.isprintable():
        return text
    escaped = "".join(
        each if each.isprintable() or each in kept else each.encode("unicode_escape").decode()
        for each in text
    )
    return escaped.replace("\n[", "\n\t[")


def _formatter(shared: list[Any]) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, as_kafka_line],
    )


def set_up_authorizer_log(directory: Path, logger: str, level: str) -> None:
    """Send the lines of the authorizer to ``directory``/kafka-authorizer.log alone.

    Args:
        directory: The directory of the file.
        logger: The name of the logger.
        level: The lowest level that is logged (``authorizer.log.level``).
    """
    handler = _RollingHandler(directory / AUTHORIZER_FILE_NAME)
    shared = [structlog.stdlib.add_logger_name, structlog.stdlib.add_log_level, _Stamp()]
    handler.setFormatter(_formatter(shared))
    lines = logging.getLogger(logger)
    lines.addHandler(handler)
    lines.setLevel(_LEVELS.get(level, level))
    lines.propagate = False


def set_up(directory: Path | None, level: str) -> None:
    """Send all logging to ``directory``/server.log, and to standard error.

    Args:
        directory: The directory of server.log; None for standard error only.
        level: The lowest level that is logged (``server.log.level``): TRACE, DEBUG, INFO, WARN or ERROR.
    """
    shared: list[Any] = [
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        _Stamp(),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    if directory is not None:
        handlers.append(_RollingHandler(directory / FILE_NAME))
    formatter = _formatter(shared)
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
        old.close()
    for handler in handlers:
        handler.setFormatter(formatter)
        handler.addFilter(LibraryLines())
        root.addHandler(handler)
    root.setLevel(_LEVELS.get(level, level))
    for library, least in _LIBRARIES.items():
        logging.getLogger(library).setLevel(max(root.level, least))
