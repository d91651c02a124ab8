import asyncio
import signal

from barnabas.broker.config.broker_config import parse
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


async def test_a_signal_ends_the_wait_for_zookeeper_cleanly(tmp_path, monkeypatch):
    async def wait(_membership):
        signal.raise_signal(signal.SIGTERM)
        await asyncio.Event().wait()

    monkeypatch.setattr(Membership, "open", wait)
    assert await run(config(tmp_path)) == 0
    assert not (tmp_path / "broker.pid").exists()
