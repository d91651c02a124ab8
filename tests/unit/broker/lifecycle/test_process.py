import asyncio
import contextlib
import io
import logging
import signal
import threading
import urllib.error
import urllib.request
from unittest.mock import AsyncMock

import pytest
import structlog.testing

from barnabas.broker.config.broker_config import parse
from barnabas.broker.config.start_error import StartError
from barnabas.broker.lifecycle.housekeeping import NoLogDirectoryLeftError
from barnabas.broker.lifecycle.process import BrokerProcess
from barnabas.cluster.runtime.failpoints import FOLLOWER_FETCH, Action
from barnabas.cluster.runtime.metrics import BrokerState

LONGEST = "barnabas_event_loop_longest_turn_seconds"
IDLE = (
    "kafka_server_KafkaRequestHandlerPool_RequestHandlerAvgIdlePercent",
    "kafka_network_SocketServer_NetworkProcessorAvgIdlePercent",
)
RECENT = "barnabas_event_loop_recent_longest_turn_seconds"


def config(tmp_path, **given):
    settings = {name.replace("_", "."): value for name, value in given.items()}
    base = {"zookeeper.connect": "z", "kafka.logs.dir": str(tmp_path / "logs")}
    return parse({**base, **settings}, hostname="here")[0]


@contextlib.contextmanager
def entered(process):
    with contextlib.ExitStack() as stack:
        process.enter(stack, lambda: None)
        yield


async def ask(port, path, method="GET"):
    def now():
        try:
            request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    return await asyncio.to_thread(now)


async def serve():
    return None


@pytest.fixture
def heard_signals():
    """No signal is ignored, whoever started the tests."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_it_runs_until_a_signal_comes(tmp_path, number, heard_signals):
    process = BrokerProcess(config(tmp_path))
    with entered(process):
        asyncio.get_running_loop().call_soon(signal.raise_signal, number)
        await process.until_stopped(serve())
    assert process.exit_status == 0
    assert (tmp_path / "logs" / "state-change.log").exists()


async def test_a_hangup_that_is_ignored_stays_so(tmp_path):
    """As under ``nohup``."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with entered(BrokerProcess(config(tmp_path))):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


async def test_an_interrupt_counts_though_a_shell_started_it_in_the_background(tmp_path):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with entered(BrokerProcess(config(tmp_path))):
            assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


async def test_a_stuck_loop_gives_its_session_up_though_no_line_can_be_written(tmp_path):
    """Its loop may be stuck in the very act of writing one, to a pipe that nobody reads."""
    settings = config(tmp_path, zookeeper_session_timeout_ms="100")
    given_up, handler = threading.Event(), logging.StreamHandler(io.StringIO())
    logging.getLogger().addHandler(handler)
    try:
        with contextlib.ExitStack() as stack:
            BrokerProcess(settings).enter(stack, given_up.set)
            with handler.lock:
                assert given_up.wait(60)
    finally:
        logging.getLogger().removeHandler(handler)


async def test_failpoints_are_armed_over_http_only_where_that_is_allowed(tmp_path, unused_tcp_port):
    process = BrokerProcess(config(tmp_path, metrics_address=f"127.0.0.1:{unused_tcp_port}"))
    with entered(process):
        assert await ask(unused_tcp_port, "/failpoints/follower.fetch?action=exit", "POST") == 403
    assert FOLLOWER_FETCH.action is Action.OFF


async def test_the_longest_turn_of_the_loop_is_shown(tmp_path, monkeypatch):
    process, measured = BrokerProcess(config(tmp_path)), asyncio.Event()
    observe = process.metrics.loop_lag_seconds.observe

    def observed(lag_s):
        observe(lag_s)
        asyncio.get_running_loop().call_soon(measured.set)

    monkeypatch.setattr(process.metrics.loop_lag_seconds, "observe", observed)
    with entered(process):
        threading.Event().wait(0.2)  # one turn
        await measured.wait()
        assert process.metrics.registry.get_sample_value(LONGEST) >= 0.15
        assert process.metrics.registry.get_sample_value(RECENT) >= 0.15
        for idle in IDLE:
            assert 0.9 < process.metrics.registry.get_sample_value(idle) < 1.0


async def test_a_signal_during_the_start_cancels_it(tmp_path):
    process, cancelled = BrokerProcess(config(tmp_path)), []

    async def start():
        signal.raise_signal(signal.SIGINT)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    with entered(process):
        await process.until_stopped(start())
    assert cancelled == [True]


async def test_a_failed_start_is_reported(tmp_path):
    process = BrokerProcess(config(tmp_path))
    with entered(process), pytest.raises(StartError, match="Cannot listen"):
        await process.until_stopped(AsyncMock(side_effect=StartError("Cannot listen"))())


async def test_the_death_of_a_task_stops_the_process_with_status_one(tmp_path):
    process = BrokerProcess(config(tmp_path))

    async def start():
        process.supervisor.spawn("fetcher", AsyncMock(side_effect=ValueError("broken"))())

    with entered(process):
        await process.until_stopped(start())
    assert process.exit_status == 1


async def test_the_loss_of_all_log_directories_has_kafkas_line_and_no_traceback(tmp_path):
    process = BrokerProcess(config(tmp_path))

    async def start():
        process.supervisor.spawn(
            "log-directories",
            AsyncMock(
                side_effect=NoLogDirectoryLeftError("Shutdown broker because all log dirs in /a have failed")
            )(),
        )

    with structlog.testing.capture_logs() as lines, entered(process):
        await process.until_stopped(start())
    assert process.exit_status == 1
    assert {
        "event": "Shutdown broker because all log dirs in /a have failed",
        "log_level": "critical",
    } in lines


async def test_the_page_says_whether_it_serves_and_arms_failpoints(tmp_path, unused_tcp_port):
    process = BrokerProcess(
        config(tmp_path, metrics_address=f"127.0.0.1:{unused_tcp_port}", failpoints_over_http="true")
    )
    try:
        with entered(process):
            process.became(BrokerState.STARTING)
            assert await ask(unused_tcp_port, "/health") == 503
            process.became(BrokerState.RUNNING_AS_BROKER)
            assert await ask(unused_tcp_port, "/health") == 200
            assert await ask(unused_tcp_port, "/failpoints/follower.fetch?action=pause", "POST") == 200
            assert FOLLOWER_FETCH.action is Action.PAUSE
    finally:
        FOLLOWER_FETCH.arm(Action.OFF)


async def test_a_taken_metrics_address_is_named(tmp_path, unused_tcp_port):
    process = BrokerProcess(config(tmp_path, metrics_address=f"127.0.0.1:{unused_tcp_port}"))
    other = BrokerProcess(config(tmp_path / "other", metrics_address=f"127.0.0.1:{unused_tcp_port}"))
    with (
        entered(process),
        pytest.raises(StartError, match=rf"metrics\.address 127\.0\.0\.1:{unused_tcp_port}"),
        entered(other),
    ):
        pass
