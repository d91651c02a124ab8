from barnabas.broker.node.register import with_bound_ports
from barnabas.cluster.model.brokers import Endpoint


def test_a_free_port_is_advertised_as_it_was_bound():
    endpoints = [Endpoint("PLAINTEXT", "here", 0), Endpoint("OUTSIDE", "there", 9)]
    bound = with_bound_ports(endpoints, {"PLAINTEXT": 7, "OUTSIDE": 8})
    assert [each.port for each in bound] == [7, 9]
