import asyncio
import contextlib
import signal
import urllib.error
import urllib.request

import pytest

from broker.config import parse
from broker.errors import StartError
from broker.process import BrokerProcess
from cluster.runtime.failpoints import FOLLOWER_FETCH, Action
from cluster.runtime.metrics import BrokerState


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


async def test_it_runs_until_a_signal_comes(tmp_path):
    process = BrokerProcess(config(tmp_path))
    with entered(process):
        asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGTERM)
        await process.until_stopped(serve())
    assert process.exit_status == 0
    assert (tmp_path / "logs" / "state-change.log").exists()


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


async def test_a_start_that_fails_is_heard(tmp_path):
    process = BrokerProcess(config(tmp_path))

    async def start():
        raise StartError("Cannot listen")

    with entered(process), pytest.raises(StartError, match="Cannot listen"):
        await process.until_stopped(start())


async def test_the_death_of_a_task_stops_the_process_with_status_one(tmp_path):
    process = BrokerProcess(config(tmp_path))

    async def die():
        raise ValueError("broken")

    async def start():
        process.supervisor.spawn("fetcher", die())

    with entered(process):
        await process.until_stopped(start())
    assert process.exit_status == 1


async def test_the_page_says_whether_it_serves_and_arms_failpoints(tmp_path, unused_tcp_port):
    process = BrokerProcess(config(tmp_path, metrics_address=f"127.0.0.1:{unused_tcp_port}"))
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
