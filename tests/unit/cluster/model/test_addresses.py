from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.addresses import (
    are_numbers_by_address,
    host_address,
    is_address,
    numbers_by_address,
)
from barnabas.cluster.model.brokers import GRPC_LISTENER, Broker, Endpoint
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.ids import BrokerId


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("::", "0:0:0:0:0:0:0:0"),
        ("2001:DB8::0:12", "2001:db8:0:0:0:0:0:12"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
        ("localhost", "localhost"),
        ("", ""),
    ],
)
def test_the_form_is_that_of_java(text, expected):
    assert host_address(text) == expected


@given(st.ip_addresses())
def test_the_address_stays_the_same_and_its_form_is_the_only_one(address):
    shown = host_address(str(address))
    again = ipaddress.ip_address(shown)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    assert again == (mapped or address)
    assert host_address(shown) == shown


def test_numbers_are_found_by_address():
    text = " 10.0.0.1:5,,::1 : 6, localhost:0"
    assert numbers_by_address(text) == {"10.0.0.1": 5, "0:0:0:0:0:0:0:1": 6, "127.0.0.1": 0}
    assert numbers_by_address("") == {}


@pytest.mark.parametrize("text", ["10.0.0.1", "host:5", "10.0.0.1:", "10.0.0.1:-1", ":5", "1.2.3.4:5;::1:6"])
def test_other_texts_are_no_numbers_by_address(text):
    assert not are_numbers_by_address(text)
    with pytest.raises(ValueError, match="is not of the form address:number"):
        numbers_by_address(text)
    assert are_numbers_by_address("1.2.3.4:5")


def test_names_are_no_addresses_but_for_this_machine():
    assert [is_address(text) for text in ("::1", "1.2.3.4", "localhost", "", "example.org")] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_an_endpoint_prints_as_it_is_registered() -> None:
    assert str(Endpoint("PLAINTEXT", "broker-1", 9092)) == "PLAINTEXT://broker-1:9092"


def test_a_listener_is_found_by_its_name() -> None:
    client = Endpoint("PLAINTEXT", "localhost", 9092)
    peer = Endpoint(GRPC_LISTENER, "localhost", 9192)
    broker = Broker(BrokerId(1), BrokerEpoch(7), (client, peer))
    assert broker.endpoint("PLAINTEXT") == client
    assert broker.endpoint(GRPC_LISTENER) == peer
    assert broker.endpoint("HOST") is None
