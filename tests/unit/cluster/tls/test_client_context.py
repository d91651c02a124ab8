from __future__ import annotations

import socket
import ssl
import threading

import pytest

from barnabas.cluster.tls.ciphers import suites_of
from barnabas.cluster.tls.client_context import client_context
from barnabas.cluster.tls.stores import Identity
from barnabas.cluster.tls.terms import Terms
from tests.certificates import Authority

AUTHORITY = Authority("ours")
BOTH = ("TLSv1.3", "TLSv1.2")


def identity(issued):
    return Identity(issued.chain().encode(), issued.key_text().encode())


def connected(tmp_path, context, hosts=("localhost",), authority=AUTHORITY):
    """The version and the server's view of the client's certificate, after a handshake."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(authority.issue("CN=server", hosts).write_pem(tmp_path / "server.pem"))
    server.load_verify_locations(cadata=AUTHORITY.text)
    server.verify_mode = ssl.CERT_OPTIONAL
    ours, theirs = socket.socketpair()
    seen = []

    def serve():
        try:
            with server.wrap_socket(theirs, server_side=True) as accepted:
                seen.append(accepted.getpeercert())
        except OSError:
            pass

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with context.wrap_socket(ours, server_hostname="localhost") as connection:
            version = connection.version()
            connection.recv(1)
    finally:
        ours.close()
        thread.join()
    return version, seen[0]


def context(identity=None, versions=BOTH, suites=None, *, checks_host=True):
    terms = Terms("none", versions, suites)
    return client_context(identity, AUTHORITY.text.encode(), terms, checks_host=checks_host)


def test_the_newest_common_version_is_used(tmp_path):
    assert connected(tmp_path, context()) == ("TLSv1.3", {} or None)
    assert connected(tmp_path, context(versions=("TLSv1.2",)))[0] == "TLSv1.2"


def test_suites_of_tls_1_2_are_as_set(tmp_path):
    suites = suites_of(["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"])
    limited = context(suites=suites)
    assert connected(tmp_path, limited)[0] == "TLSv1.2"
    names = {each["name"] for each in limited.get_ciphers() if each["protocol"] != "TLSv1.3"}
    assert names == {"ECDHE-ECDSA-AES256-GCM-SHA384"}


def test_the_client_shows_its_certificate(tmp_path):
    _, certificate = connected(tmp_path, context(identity(AUTHORITY.issue("CN=broker"))))
    assert certificate["subject"] == ((("commonName", "broker"),),)


def test_only_named_authorities_are_trusted(tmp_path):
    with pytest.raises(ssl.SSLCertVerificationError):
        connected(tmp_path, context(), authority=Authority("another"))


def test_the_name_is_checked_unless_it_is_not_to_be(tmp_path):
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        connected(tmp_path, context(), hosts=("elsewhere",))
    assert connected(tmp_path, context(checks_host=False), hosts=("elsewhere",))[0] == "TLSv1.3"
