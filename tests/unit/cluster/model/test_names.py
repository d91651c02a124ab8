"""Names of topics and hosts, and names that clients choose in log lines."""

from __future__ import annotations

import pytest

from barnabas.cluster.model.host_names import is_named
from barnabas.cluster.model.log_text import printable, shortened
from barnabas.cluster.model.topic_names import INTERNAL_TOPICS, MAX_NAME_LENGTH, fault


@pytest.mark.parametrize(
    "name", ["orders", "a", "A.b_c-9", "...", "x" * MAX_NAME_LENGTH, *sorted(INTERNAL_TOPICS)]
)
def test_a_legal_name_has_no_fault(name):
    assert fault(name) is None


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "ä", "a\n", "x" * (MAX_NAME_LENGTH + 1)])
def test_a_fault_is_said(name):
    assert fault(name)


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


def test_a_long_name_is_cut_in_a_line_with_its_length():
    assert shortened("a" * 255) == "a" * 255
    assert shortened("a" * 256) == "a" * 255 + "... (256 characters)"


def test_a_name_cannot_break_or_forge_a_line():
    assert printable("plain, with ümlaut") == "plain, with ümlaut"
    assert printable("a\nPrincipal = b\x1b[0m\u2028") == "a\\nPrincipal = b\\x1b[0m\\u2028"
