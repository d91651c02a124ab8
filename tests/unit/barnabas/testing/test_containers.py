"""The links between containers."""

from barnabas.testing.containers import links_of


def test_links_of_joins_brokers_zookeeper_and_clients_each_by_a_port_of_its_own():
    links = links_of([1, 2])
    assert {ends: link.target for ends, link in links.items()} == {
        ("clients", "1"): "broker-1:9092",
        ("clients", "2"): "broker-2:9092",
        ("1", "zookeeper"): "zookeeper:2181",
        ("2", "zookeeper"): "zookeeper:2181",
        ("1", "2"): "broker-2:9192",
        ("2", "1"): "broker-1:9192",
    }
    assert len({link.port for link in links.values()}) == len(links)
