"""The frame of a broker process: signals, pid file, metrics, state-change.log, tasks and the watchdog."""

from __future__ import annotations

import asyncio
import faulthandler
import signal
import time
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from typing import Any

import structlog

from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.config.start_error import StartError
from barnabas.broker.disk.files import keep_spare_descriptors
from barnabas.broker.lifecycle.descriptors import FOR_THE_DISK, first_kept_from_logs, raise_limit
from barnabas.broker.lifecycle.housekeeping import NoLogDirectoryLeftError
from barnabas.broker.lifecycle.pid_file import pid_file
from barnabas.cluster.model.statechange.levels import Level
from barnabas.cluster.runtime.failpoints import Action, Failpoint
from barnabas.cluster.runtime.line_limit import LINES
from barnabas.cluster.runtime.metrics import BrokerState, Metrics
from barnabas.cluster.runtime.metrics_page import MetricsPage
from barnabas.cluster.runtime.statechange_log import FILE_NAME, StateChangeLog
from barnabas.cluster.runtime.supervisor import Supervisor
from barnabas.cluster.runtime.watchdog import LongestTurns, Watchdog

_log = structlog.get_logger("kafka.server.KafkaServer")
_logs_log = structlog.get_logger("kafka.log.LogManager")

STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""The signals that stop a broker cleanly (``LoggingSignalHandler`` of Kafka); SIGHUP unless it is ignored."""

SUPPRESSED_LINES_INTERVAL_S = 10.0
"""Interval between two reports of suppressed log lines, seconds."""


class BrokerProcess:
    """The frame of a broker process, made and used on its event loop.

    Attributes:
        config: The broker's settings.
        metrics: Its metrics.
        supervisor: The owner of its tasks: the death of one ends the process.
        state_change_log: Its state-change.log.
        descriptors: The number of files it may have open.
        exit_status: The exit status of the process: 0, or 1 after a task has died.
    """

    def __init__(self, config: BrokerConfig) -> None:
        self.config = config
        self.metrics = Metrics()
        self.supervisor = Supervisor(self._died)
        level = Level[str(config.values["state.change.log.level"])]
        self.state_change_log = StateChangeLog(config.logs_dir / FILE_NAME, level)
        self.exit_status = 0
        self.descriptors = raise_limit()
        keep_spare_descriptors(FOR_THE_DISK, first_kept_from_logs(self.descriptors))
        _log.info(f"Up to {self.descriptors} files may be open; {FOR_THE_DISK} are kept back for logs")
        self._state = BrokerState.NOT_RUNNING
        self._stopping = asyncio.Event()

    def enter(self, stack: ExitStack, on_stuck: Callable[[], None]) -> None:
        """Install signal handlers, pid file, metrics page and watchdog.

        Args:
            stack: Takes the callbacks that undo all of this.
            on_stuck: Called from the watchdog's thread when the loop has not run for a session timeout.

        Raises:
            StartError: The pid file cannot be written, or the metrics address is in use.
        """
        loop = asyncio.get_running_loop()
        stack.callback(self.state_change_log.close)
        for number in STOPPING:
            # Under `nohup` a broker survives its terminal, as Kafka does in a JVM. A shell's `&` ignores
            # SIGINT too, but a SIGINT sent to this process is meant for it.
            if not (number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN):
                loop.add_signal_handler(number, self._asked_to_stop, number)
                stack.callback(loop.remove_signal_handler, number)
        stack.enter_context(pid_file(self.config.pid_file))
        if self.config.metrics_address is not None:
            self._open_page(*self.config.metrics_address, stack)

        def stuck() -> None:
            # This comes first: the loop may be blocked by the reader of standard error, and then neither the
            # stacks nor the line below can be written.
            on_stuck()
            faulthandler.dump_traceback()
            _log.critical(
                "The event loop has stood still for a whole session, which was given up; the stacks are on "
                "standard error"
            )

        self._log_suppressed_lines(stack)
        watchdog = Watchdog(self.config.session_timeout_ms / 1000, stuck, self._measure_turns())
        # One loop reads sockets and handles requests, so that it is both of Kafka's pools of threads.
        for gauge in (self.metrics.request_handler_idle, self.metrics.network_processor_idle):
            self.metrics.watch(gauge, lambda: watchdog.idle.share)
        watchdog.start()
        stack.callback(watchdog.stop)

    def _log_suppressed_lines(self, stack: ExitStack) -> None:
        """Log periodically, and at the end, how many lines were suppressed."""
        loop = asyncio.get_running_loop()
        timer: asyncio.TimerHandle | None = None

        def log_ended() -> None:
            nonlocal timer
            LINES.log_suppressed()
            timer = loop.call_later(SUPPRESSED_LINES_INTERVAL_S, log_ended)

        def log_all() -> None:
            if timer is not None:
                timer.cancel()
            LINES.log_suppressed(at_the_end=True)

        log_ended()
        stack.callback(log_all)

    def _measure_turns(self) -> Callable[[float, float], None]:
        """Export the loop's longest turns; return the callback for each heartbeat's lag and CPU time."""
        metrics, turns = self.metrics, LongestTurns(time.monotonic())
        metrics.watch(metrics.longest_turn_seconds, lambda: turns.ever)
        metrics.watch(metrics.recent_longest_turn_seconds, lambda: turns.recent(time.monotonic()))

        def beat(lag_s: float, cpu_s: float) -> None:
            metrics.loop_lag_seconds.observe(lag_s)
            metrics.loop_cpu_seconds.observe(cpu_s)
            turns.add(lag_s, time.monotonic())

        return beat

    def _open_page(self, host: str, port: int, stack: ExitStack) -> None:
        loop = asyncio.get_running_loop()

        def arm(point: Failpoint, action: Action) -> None:
            loop.call_soon_threadsafe(point.arm, action)

        try:
            page = MetricsPage(
                host,
                port,
                self.metrics.registry,
                lambda: self._state is BrokerState.RUNNING_AS_BROKER,
                arm if self.config.flag("failpoints.over.http") else None,
            )
        except OSError as error:
            raise StartError(f"Cannot listen on metrics.address {host}:{port}: {error.strerror}") from error
        stack.callback(page.close)

    def became(self, state: BrokerState) -> None:
        """Export ``state`` as the broker's state."""
        self._state = state
        self.metrics.broker_state.set(state)

    async def until_stopped(self, start: Coroutine[Any, Any, None]) -> None:
        """Run ``start``, then wait for a stop signal or a task's death, both of which cancel ``start``.

        Raises:
            StartError: ``start`` raised it.
        """
        starting = asyncio.create_task(start, name="start")
        stopping = asyncio.create_task(self._stopping.wait(), name="stop")
        try:
            await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                starting.result()
                await stopping
        finally:
            starting.cancel()
            stopping.cancel()
            await asyncio.gather(starting, stopping, return_exceptions=True)

    def _asked_to_stop(self, number: signal.Signals) -> None:
        _log.info(f"{signal.Signals(number).name} came; stopping")
        self._stopping.set()

    def _died(self, name: str, error: BaseException) -> None:
        if isinstance(error, NoLogDirectoryLeftError):
            _logs_log.critical(str(error))
        else:
            _log.critical(f"The task {name} died; the broker stops", exc_info=error)
        self.exit_status = 1
        self._stopping.set()
