import asyncio
import signal
import socket

import pytest

from barnabas.broker.config.broker_config import parse
from barnabas.broker.config.start_error import StartError
from barnabas.broker.membership.registration import Membership
from barnabas.broker.node.run import run


def config(tmp_path, **given):
    settings = {name.replace("_", "."): value for name, value in given.items()}
    base = {
        "zookeeper.connect": "127.0.0.1:1",
        "zookeeper.connection.timeout.ms": "50",
        "listeners": "PLAINTEXT://127.0.0.1:0,GRPC://127.0.0.1:0",
        "kafka.logs.dir": str(tmp_path / "logs"),
        "log.dirs": str(tmp_path / "data"),
        "pid.file": str(tmp_path / "broker.pid"),
    }
    return parse({**base, **settings}, hostname="here")[0]


@pytest.mark.parametrize("listener", ["PLAINTEXT", "GRPC"])
async def test_a_taken_port_is_found_out_before_anything_is_touched(tmp_path, listener):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        free = {"PLAINTEXT", "GRPC"} - {listener}
        listeners = f"{listener}://127.0.0.1:{port},{free.pop()}://127.0.0.1:0"
        with pytest.raises(StartError, match=f"Cannot listen on {listener}://127.0.0.1:{port}"):
            await run(config(tmp_path, listeners=listeners))
    assert not (tmp_path / "broker.pid").exists()
    assert not (tmp_path / "data").exists()


async def test_a_zookeeper_that_is_away_is_named_and_nothing_is_left(tmp_path):
    with pytest.raises(StartError, match=r"Cannot reach ZooKeeper of zookeeper.connect: .*127\.0\.0\.1:1"):
        await run(config(tmp_path))
    assert not (tmp_path / "broker.pid").exists()
    assert not (tmp_path / "data").exists()


async def test_a_signal_ends_the_wait_for_zookeeper_cleanly(tmp_path, monkeypatch):
    async def wait(_membership):
        signal.raise_signal(signal.SIGTERM)
        await asyncio.Event().wait()

    monkeypatch.setattr(Membership, "open", wait)
    assert await run(config(tmp_path)) == 0
    assert not (tmp_path / "broker.pid").exists()
