from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.cluster.model.jaas import parse_jaas_file
from barnabas.local.zookeeper_security import (
    JAAS_FILE,
    UNSECURED,
    ServerSecurity,
    ServerTls,
    client_settings,
    kept_login,
    render_security,
    render_users,
    server_security,
)

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


def test_tls_has_its_stores_and_no_empty_passwords():
    tls = ServerTls(Path("/zk.p12"), Path("/ca.pem"), keystore_password="secret", client_auth="want")
    lines = render_security(ServerSecurity(tls=tls)).splitlines()
    assert set(lines) == {
        "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
        "authProvider.x509=org.apache.zookeeper.server.auth.X509AuthenticationProvider",
        "ssl.enabledProtocols=TLSv1.2,TLSv1.3",
        "ssl.clientAuth=want",
        "ssl.keyStore.location=/zk.p12",
        "ssl.keyStore.password=secret",
        "ssl.trustStore.location=/ca.pem",
    }
    assert "secret" not in repr(tls)


def test_brokers_secure_their_nodes_if_the_server_can_know_them():
    file = Path("/jaas.conf")
    assert client_settings(UNSECURED, file) == {}
    assert client_settings(ServerSecurity(USERS), file) == {
        "java.security.auth.login.config": "/jaas.conf",
        "zookeeper.set.acl": "true",
    }
    tls = ServerTls(Path("/zk.pem"), Path("/ca.pem"))
    assert client_settings(ServerSecurity(tls=tls), file) == {
        "zookeeper.ssl.client.enable": "true",
        "zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty",
        "zookeeper.ssl.keystore.location": "/zk.pem",
        "zookeeper.ssl.truststore.location": "/ca.pem",
        "zookeeper.set.acl": "true",
    }
    anonymous = ServerSecurity(tls=ServerTls(Path("/zk.pem"), Path("/ca.pem"), client_auth="none"))
    assert "zookeeper.set.acl" not in client_settings(anonymous, file)


def test_the_login_of_brokers_is_made_once_and_kept(tmp_path):
    made = kept_login(tmp_path)
    assert set(made) == {"kafka"}
    assert made != kept_login(tmp_path)  # nothing is there yet
    (tmp_path / JAAS_FILE).write_text(render_users(made))
    assert kept_login(tmp_path) == made


def test_a_server_that_required_a_login_goes_on_with_it(tmp_path):
    assert server_security(tmp_path, None, None, secure=False) == UNSECURED
    first = server_security(tmp_path, None, None, secure=True)
    assert first.requires_login
    (tmp_path / JAAS_FILE).write_text(render_users(first.users))
    assert server_security(tmp_path, None, None, secure=False) == first


def test_stores_are_pem_and_both_there(tmp_path):
    pem, other = tmp_path / "zk.pem", tmp_path / "zk.p12"
    pem.touch()
    other.touch()
    tls = server_security(tmp_path, pem, pem, secure=False).tls
    assert tls == ServerTls(pem, pem)
    for stores in ((pem, None), (None, pem), (pem, other), (tmp_path / "none.pem", pem)):
        with pytest.raises(ValueError, match=r"go together|is not a file, or its name does not end"):
            server_security(tmp_path, *stores, secure=False)


def test_a_login_that_cannot_be_read_does_not_open_the_server(tmp_path):
    for text in ("Client {", "Server {\n a.B required x=y;\n};\n", ""):
        (tmp_path / JAAS_FILE).write_text(text)
        with pytest.raises(ValueError, match="no login of brokers in"):
            server_security(tmp_path, None, None, secure=False)
