from __future__ import annotations

from barnabas.cluster.model.jaas import parse_jaas_file
from barnabas.local.zookeeper_security import UNSECURED, ServerSecurity, render_security, render_users

USERS = {"kafka": 'a"b\\c\nd', "other": "x"}


def test_nothing_is_added_for_an_open_server():
    assert render_security(UNSECURED) == ""


def test_users_need_the_provider_of_sasl():
    lines = render_security(ServerSecurity(USERS)).splitlines()
    assert lines == ["authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider"]
    lines = render_security(ServerSecurity(USERS, requires_login=True)).splitlines()
    assert lines[1:] == ["enforce.auth.enabled=true", "enforce.auth.schemes=sasl"]
    assert "x" not in repr(ServerSecurity({"kafka": "x"}))


def test_the_file_has_all_users_and_the_login_of_the_first():
    sections = parse_jaas_file(render_users(USERS))
    assert sections["Server"][0].options == {f"user_{name}": password for name, password in USERS.items()}
    assert sections["Client"][0].options == {"username": "kafka", "password": USERS["kafka"]}
