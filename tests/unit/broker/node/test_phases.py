"""The phases of a broker's start and stop."""

import asyncio
import contextlib
import socket

import pytest
from structlog.testing import capture_logs

from barnabas.broker.config.broker_config import parse
from barnabas.broker.config.start_error import StartError
from barnabas.broker.node import replicate
from barnabas.broker.node.open import bind_listeners, log_values
from barnabas.broker.node.register import with_bound_ports
from barnabas.cluster.model.brokers import Endpoint


def config(plaintext=0, peers=0):
    listeners = f"PLAINTEXT://127.0.0.1:{plaintext},GRPC://127.0.0.1:{peers}"
    return parse({"zookeeper.connect": "z", "listeners": listeners}, hostname="here")[0]


async def test_client_ports_stay_bound_and_the_port_of_the_peers_is_left_to_grpc():
    async with contextlib.AsyncExitStack() as stack:
        sockets = bind_listeners(config(), stack)
        assert list(sockets) == ["PLAINTEXT"]
        assert sockets["PLAINTEXT"].fileno() >= 0
    assert sockets["PLAINTEXT"].fileno() < 0


@pytest.mark.parametrize("listener", ["plaintext", "peers"])
async def test_a_taken_port_is_refused(listener):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = config(**{listener: taken.getsockname()[1]})
        async with contextlib.AsyncExitStack() as stack:
            with pytest.raises(StartError, match="Cannot listen on"):
                bind_listeners(settings, stack)


def test_all_settings_are_logged_as_kafka_logs_them():
    with capture_logs() as said:
        log_values(config())
    (line,) = said
    assert line["event"].startswith("KafkaConfig values: \n\tadvertised.listeners = null\n")
    for shown in ("min.insync.replicas = 1", "log.cleaner.enable = true", "log.dirs = null"):
        assert f"\n\t{shown}\n" in line["event"]


class Controller:
    def __init__(self, resigned):
        self.resigned = resigned

    async def stop(self):
        await self.resigned.wait()


async def test_a_controller_that_does_not_resign_delays_the_end_for_so_long_alone(monkeypatch):
    monkeypatch.setattr(replicate, "RESIGN_DEADLINE_S", 0)
    with capture_logs() as lines:
        await replicate.resign(Controller(asyncio.Event()))
    assert [line["event"] for line in lines] == [
        "The controller did not resign within 0 s; its session ends now"
    ]


async def test_a_controller_that_resigned_is_not_reported():
    resigned = asyncio.Event()
    resigned.set()
    with capture_logs() as lines:
        await replicate.resign(Controller(resigned))
    assert lines == []


def test_a_free_port_is_advertised_as_it_was_bound():
    endpoints = [Endpoint("PLAINTEXT", "here", 0), Endpoint("OUTSIDE", "there", 9)]
    bound = with_bound_ports(endpoints, {"PLAINTEXT": 7, "OUTSIDE": 8})
    assert [each.port for each in bound] == [7, 9]
