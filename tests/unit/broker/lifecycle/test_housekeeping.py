import asyncio

import pytest

from barnabas.broker.config.broker_config import parse
from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.lifecycle.housekeeping import (
    NoLogDirectoryLeftError,
    keep_logs,
    repeat,
    require_a_directory,
)
from barnabas.cluster.runtime.supervisor import Supervisor


class Logs:
    def __init__(self, *failed):
        self.done = []
        self.offline = {path: KafkaStorageError(path, "the disk is full") for path in failed}

    def __getattr__(self, name):
        return lambda: self.done.append(name)


def config(**given):
    settings = {name.replace("_", "."): value for name, value in given.items()}
    return parse({"zookeeper.connect": "z", **settings}, hostname="here")[0]


async def test_work_is_repeated():
    done, calls = asyncio.Event(), []

    def work():
        calls.append(1)
        if len(calls) == 3:
            done.set()

    task = asyncio.create_task(repeat(1, work))
    async with asyncio.timeout(60):
        await done.wait()
    task.cancel()


async def test_others_run_between_the_steps_of_long_work():
    done, seen = asyncio.Event(), []

    def work():
        asyncio.get_running_loop().call_soon(seen.append, "other")
        seen.append("first")
        yield
        seen.append("second")
        done.set()

    task = asyncio.create_task(repeat(1, work))
    async with asyncio.timeout(60):
        await done.wait()
    task.cancel()
    assert seen[:3] == ["first", "other", "second"]


async def test_each_kind_of_work_has_its_task_unless_its_interval_is_never():
    supervisor = Supervisor(lambda name, error: pytest.fail(f"{name}: {error}"))
    keep_logs(supervisor, Logs(), config(), print)
    assert supervisor.names == [
        "delete-logs",
        "log-directories",
        "log-start-offset-checkpoint",
        "producer-expiration",
        "recovery-point-checkpoint",
    ]
    await supervisor.close(5)


async def test_a_flush_interval_brings_the_flusher():
    supervisor = Supervisor(lambda name, error: pytest.fail(f"{name}: {error}"))
    keep_logs(supervisor, Logs(), config(log_flush_scheduler_interval_ms="1000"), print)
    assert "log-flusher" in supervisor.names
    await supervisor.close(5)


def test_a_broker_goes_on_while_one_directory_is_left(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    settings = config(log_dirs=f"{first},{second}")
    require_a_directory(Logs(), settings)
    require_a_directory(Logs(first), settings)
    with pytest.raises(NoLogDirectoryLeftError, match=f"all log dirs in {first}, {second} have failed"):
        require_a_directory(Logs(first, second), settings)


async def test_the_owner_is_notified_when_no_directory_is_left(tmp_path):
    ended = asyncio.get_running_loop().create_future()
    supervisor = Supervisor(lambda name, error: ended.set_result((name, error)))
    failures = []
    keep_logs(supervisor, Logs(tmp_path), config(log_dirs=str(tmp_path)), failures.append)
    async with asyncio.timeout(60):
        name, error = await ended
    assert name == "log-directories"
    assert isinstance(error, NoLogDirectoryLeftError)
    assert [error.log_dir for error in failures] == [tmp_path]
    await supervisor.close(5)
