import pytest

from barnabas.cluster.model.host_names import is_named


@pytest.mark.parametrize(
    ("host", "names", "named"),
    [
        ("broker-1.example", ["broker-1.example"], True),
        ("Broker-1.Example.", ["broker-1.example"], True),
        ("broker-1.example", ["broker-2.example", "*.example"], False),
        ("broker-1.kafka.example", ["*.kafka.example"], True),
        ("a.b.kafka.example", ["*.kafka.example"], False),
        ("kafka.example", ["*.kafka.example"], False),
        (".kafka.example", ["*.kafka.example"], False),
        ("broker", ["*"], False),
        ("broker.example", ["b*.example"], False),
        ("127.0.0.1", ["127.0.0.1"], True),
        ("127.0.0.2", ["127.0.0.1", "*.0.0.2"], False),
        ("::1", ["0:0:0:0:0:0:0:1"], True),
        ("host", [], False),
    ],
)
def test_a_certificate_names_a_host(host, names, named):
    assert is_named(host, names) is named
