"""The broker's command line: ``server.properties [--override key=value …]``."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import structlog
import uvloop

from barnabas.broker.config.broker_config import BrokerConfig, SettingsFileError, parse, read_settings
from barnabas.broker.config.start_error import StartError
from barnabas.broker.disk.files import lock_file
from barnabas.broker.node.run import run
from barnabas.cluster.model.configs.declarations import ConfigError
from barnabas.cluster.rpc import channels
from barnabas.cluster.runtime import failpoints, logs
from barnabas.cluster.runtime.allocator import keep_freed_memory

LOGS_LOCK = ".logs.lock"
"""The file in ``kafka.logs.dir`` that a broker locks while it runs; it has the id of its process."""

_log = structlog.get_logger("kafka.Kafka")


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m barnabas.broker", description="Run one broker of a cluster."
    )
    parser.add_argument("settings", type=Path, metavar="server.properties", help="the broker's settings")
    parser.add_argument(
        "--override",
        action="append",
        default=[],
        metavar="key=value",
        help="a setting over that of the file; may be given several times",
    )
    return parser.parse_args(argv)


def _configure(path: Path, overrides: Sequence[str]) -> tuple[BrokerConfig, tuple[str, ...]]:
    """Read, check and apply the settings that need no event loop.

    Raises:
        SettingsFileError: The file cannot be read, or an override is not of that form.
        ConfigError: A setting is invalid.
        StartError: The directory of the logs cannot be used, or another process writes to it.
    """
    config, unknown = parse(read_settings(path, overrides))
    faults = config.values["failpoints"]
    if isinstance(faults, tuple):
        try:
            failpoints.arm_all(faults)
        except failpoints.UnknownFailpointError as error:
            raise ConfigError("failpoints", ",".join(faults), f"a list of name=action: {error}") from error
    detours = config.values["inter.broker.detours"]
    if isinstance(detours, tuple):
        channels.take_detours(_detours_of(detours))
    try:
        _lock_logs(config.logs_dir)
        logs.set_up(config.logs_dir, str(config.values["server.log.level"]))
    except OSError as error:
        raise StartError(
            f"Cannot write logs to kafka.logs.dir {config.logs_dir}: {error.strerror}"
        ) from error
    return config, unknown


def _detours_of(settings: Sequence[str]) -> dict[str, str]:
    """Parse items ``host:port=host:port`` into a map from an address to the address to connect to instead.

    Raises:
        ConfigError: A setting is not of that form.
    """
    pairs = [setting.partition("=") for setting in settings]
    if not all(target.strip() and via.strip() for target, _, via in pairs):
        raise ConfigError("inter.broker.detours", ",".join(settings), "a list of host:port=host:port")
    return {target.strip(): via.strip() for target, _, via in pairs}


def _lock_logs(directory: Path) -> None:
    """Keep other processes from writing to the logs in ``directory`` until this process ends.

    A second process that was started by mistake would log to server.log that it cannot start, and readers
    would take that for the end of the running broker.

    Raises:
        StartError: Another process holds the lock.
        OSError: The directory cannot be written to.
    """
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / LOGS_LOCK
    descriptor = lock_file(file)
    if descriptor is None:
        holder = file.read_text(encoding="ascii", errors="replace").strip() or "unknown"
        raise StartError(
            f"Another process writes its logs to kafka.logs.dir {directory}: process {holder}; stop it, "
            "or set kafka.logs.dir, log.dirs and the ports of listeners to others than its own"
        )
    with contextlib.suppress(OSError):  # on a full disk the process id is missing, and the lock still holds
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode("ascii"))


def main(argv: Sequence[str]) -> int:
    """Run a broker until it is stopped.

    Returns:
        The exit status: 0 after a clean stop, 1 if it could not start or had to stop.
    """
    arguments = _arguments(argv)
    try:
        config, unknown = _configure(arguments.settings, arguments.override)
    except (SettingsFileError, ConfigError, StartError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for name in unknown:
        _log.warning(f"The configuration '{name}' was supplied but is not a known config.")
    keep_freed_memory()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(run(config))
    except StartError as error:
        _log.critical(str(error))
        return 1
