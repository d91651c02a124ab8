from __future__ import annotations

import datetime as dt
import ssl

from cryptography import x509

from barnabas.local.certificates import VALID_DAYS, issue, make_authority


def test_an_issued_certificate_names_its_subject_and_hosts():
    authority = make_authority("ours")
    issued = issue(authority, "CN=broker-1,O=us", ["localhost", "127.0.0.1"])
    key, _, certificate = issued.partition("-----BEGIN CERTIFICATE")
    found = x509.load_pem_x509_certificate(f"-----BEGIN CERTIFICATE{certificate}".encode())
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert found.subject.rfc4514_string() == "CN=broker-1,O=us"
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    assert found.not_valid_after_utc - dt.datetime.now(dt.UTC) > dt.timedelta(days=VALID_DAYS - 1)
    assert "BEGIN PRIVATE KEY" in key
    found.verify_directly_issued_by(x509.load_pem_x509_certificate(authority.certificate.encode()))


def test_a_handshake_trusts_the_authority_by_the_strict_rules(tmp_path):
    authority = make_authority("ours")
    store = tmp_path / "broker.pem"
    store.write_text(issue(authority, "CN=broker", ["localhost"]))
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(store)
    client = ssl.create_default_context(cadata=authority.certificate)
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname="localhost")
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    done = set()
    for side in (ours, theirs) * 3:
        try:
            side.do_handshake()
            done.add(side)
        except ssl.SSLWantReadError:
            continue
    assert done == {ours, theirs}
