import socket

import pytest

from barnabas.ports import BrokerPorts, PortError, any_free, derived


def test_ports_are_counted_from_the_first():
    base = any_free(1).brokers[0].kafka
    try:
        ports = derived(base, 2)
    except PortError:
        pytest.skip("somebody uses a port above the one found")
    assert ports.zookeeper == base + 3000
    assert ports.brokers == (
        BrokerPorts(base, base + 1000, base + 2000),
        BrokerPorts(base + 1, base + 1001, base + 2001),
    )


def test_a_taken_port_is_named():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        if port + 3003 > 65535:
            pytest.skip("the system gave a port too high to count from")
        with pytest.raises(PortError, match=f"{port} is taken"):
            derived(port, 3)


@pytest.mark.parametrize("port", [-1, 63000])
def test_ports_must_have_room(port):
    with pytest.raises(PortError, match="does not leave room for 3 brokers"):
        derived(port, 3)


def test_any_free_ports_are_free_and_apart():
    ports = any_free(3)
    numbers = [ports.zookeeper, *(n for b in ports.brokers for n in (b.kafka, b.grpc, b.metrics))]
    assert len(set(numbers)) == 10
    assert max(numbers) < 32768
