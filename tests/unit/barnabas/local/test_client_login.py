from __future__ import annotations

from pathlib import Path

import confluent_kafka

from barnabas.cluster.model.properties import parse_properties
from barnabas.local.certificates import make_authority
from barnabas.local.client_login import ClientLogin, kafka_python, librdkafka
from barnabas.tools.clients.client_properties import for_librdkafka

LOGIN = ClientLogin("client", "a-b_c", Path("/secure/ca.pem"))


def test_a_login_does_not_show_its_password():
    assert "a-b_c" not in repr(LOGIN)


def test_the_tools_read_the_properties_as_librdkafka_does_its_settings(tmp_path):
    authority = tmp_path / "ca.pem"
    authority.write_text(make_authority("ours").certificate)
    login = ClientLogin("client", "a-b_c", authority)
    given = for_librdkafka(parse_properties(login.properties("h:1,h:2")))
    wanted = {"bootstrap.servers": "h:1,h:2", **login.librdkafka()}
    assert {name: text for name, text in wanted.items() if given.get(name) != text} == {
        "ssl.ca.location": str(authority)
    }
    confluent_kafka.Producer(given)


def test_librdkafka_knows_the_settings(tmp_path):
    authority = tmp_path / "ca.pem"
    authority.write_text(make_authority("ours").certificate)
    confluent_kafka.Producer(ClientLogin("client", "secret", authority).librdkafka())


def test_without_a_login_there_are_no_settings():
    assert librdkafka(None) == kafka_python(None) == {}
    assert librdkafka(LOGIN)["sasl.username"] == kafka_python(LOGIN)["sasl_plain_username"] == "client"


def test_each_library_gets_a_program():
    programs = LOGIN.examples("h:1,h:2", Path("/secure/client.properties"))
    for name in ("with_confluent_kafka.py", "with_kafka_python.py", "with_aiokafka.py"):
        compile(programs[name], name, "exec")
        assert "'h:1,h:2'" in programs[name]
        assert "'a-b_c'" in programs[name]
    assert '"/secure/client.properties"' in programs["WithJava.java"]
    assert "a-b_c" not in programs["WithJava.java"]
