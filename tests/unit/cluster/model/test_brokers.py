"""A broker and its addresses."""

from __future__ import annotations

from barnabas.cluster.model.brokers import GRPC_LISTENER, Broker, Endpoint
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.ids import BrokerId


def test_an_endpoint_prints_as_it_is_registered() -> None:
    assert str(Endpoint("PLAINTEXT", "broker-1", 9092)) == "PLAINTEXT://broker-1:9092"


def test_a_listener_is_found_by_its_name() -> None:
    client = Endpoint("PLAINTEXT", "localhost", 9092)
    peer = Endpoint(GRPC_LISTENER, "localhost", 9192)
    broker = Broker(BrokerId(1), BrokerEpoch(7), (client, peer))
    assert broker.endpoint("PLAINTEXT") == client
    assert broker.endpoint(GRPC_LISTENER) == peer
    assert broker.endpoint("HOST") is None
