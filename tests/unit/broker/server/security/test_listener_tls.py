import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from structlog.testing import capture_logs

from barnabas.broker.server.security.listener_security import SslSettings
from barnabas.broker.server.security.listener_tls import ListenerTls
from barnabas.cluster.model.configs.declarations import ConfigError
from barnabas.cluster.model.principal_mapping import PrincipalMapping
from barnabas.cluster.tls.terms import Terms
from tests.certificates import Authority

ROOT = Authority("root")


def tls_of(values, auth="none"):
    terms = Terms(auth, ("TLSv1.3",), None)
    return ListenerTls(
        "SSL", SslSettings(values, "listener.name.ssl.{}".format, terms, PrincipalMapping("DEFAULT"))
    )


def files(tmp_path, subject="CN=broker"):
    trusted = tmp_path / "trusted.pem"
    trusted.write_text(ROOT.text)
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(ROOT.issue(subject).write_pem(tmp_path / "broker.pem")),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trusted),
    }


def test_a_listener_must_have_a_key():
    with pytest.raises(
        ConfigError, match=r"ssl.keystore.location is not set; .* because the listener SSL uses TLS"
    ):
        tls_of({})


@pytest.mark.parametrize("auth", ["requested", "required"])
def test_whoever_asks_for_certificates_must_say_whom_it_trusts(tmp_path, auth):
    values = {name: text for name, text in files(tmp_path).items() if "trust" not in name}
    with pytest.raises(
        ConfigError, match=f"ssl.truststore.location is not set; .* ssl.client.auth of SSL is {auth}"
    ):
        tls_of(values, auth)
    assert tls_of(values).context


def test_a_key_that_openssl_refuses_is_named(tmp_path, monkeypatch):
    short = rsa.generate_private_key(65537, 1024)
    monkeypatch.setattr("tests.certificates.ec.generate_private_key", lambda _: short)
    with pytest.raises(ConfigError, match=r"ssl.keystore.location .* that OpenSSL accepts: EE_KEY_TOO_SMALL"):
        tls_of(files(tmp_path))


def test_changed_files_are_taken_and_bad_ones_are_not(tmp_path):
    values = files(tmp_path)
    tls = tls_of(values)
    first = tls.context
    tls.reload()
    assert tls.context is first
    files(tmp_path)
    with capture_logs() as lines:
        tls.reload()
    second = tls.context
    assert second is not first
    assert [line["event"] for line in lines] == ["Listener SSL uses its changed stores for new connections"]
    for change, reason in (
        (
            lambda: files(tmp_path, "CN=other"),
            "its certificate is for CN=other, not for CN=broker",
        ),
        (lambda: (tmp_path / "broker.pem").write_text("half a"), "ssl.keystore.type"),
        ((tmp_path / "broker.pem").unlink, "No such file"),
    ):
        change()
        with capture_logs() as lines:
            tls.reload()
            tls.reload()
        assert [line["log_level"] for line in lines] == ["error"]
        assert "changed stores of listener SSL are not used" in lines[0]["event"]
        assert reason in lines[0]["event"]
        assert tls.context is second
    files(tmp_path)
    tls.reload()
    assert tls.context is not second


def test_settings_in_zookeeper_are_taken_and_given_back(tmp_path):
    tls = tls_of(files(tmp_path))
    first = tls.context
    own = {
        "listener.name.ssl.ssl.keystore.location": str(ROOT.issue("CN=broker").write_pem(tmp_path / "b.pem"))
    }
    assert tls.refusal_of(own) is None
    tls.alter(own)
    tls.reload()
    second = tls.context
    assert second is not first
    tls.alter({"listener.name.other.ssl.keystore.location": "/nowhere"})
    tls.reload()
    assert tls.context is not second


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("location", "/nowhere", "listener.name.ssl.ssl.keystore.location has the value '/nowhere'"),
        ("type", "PKCS12", "it must be PEM, because"),
    ],
)
def test_bad_settings_in_zookeeper_are_refused_and_not_used(tmp_path, name, value, reason):
    tls = tls_of(files(tmp_path))
    first = tls.context
    own = {f"listener.name.ssl.ssl.keystore.{name}": value}
    assert reason in tls.refusal_of(own)
    tls.alter(own)
    with capture_logs() as lines:
        tls.reload()
        tls.reload()
    assert [reason in line["event"] for line in lines] == [True]
    assert tls.context is first
    assert tls.refusal_of({}) is None


def test_a_secret_that_kafka_has_encrypted_is_not_used(tmp_path):
    tls = tls_of(files(tmp_path))
    first = tls.context
    with capture_logs() as lines:
        tls.alter({"listener.name.ssl.ssl.key.password": "salt:abc"})
        tls.reload()
    assert [line["event"] for line in lines] == [
        "The setting listener.name.ssl.ssl.key.password in ZooKeeper is not used: it is encrypted"
    ]
    assert tls.context is first
