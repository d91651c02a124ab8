import base64
import subprocess

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from barnabas.cluster.model.configs.declarations import ConfigError, Password
from barnabas.cluster.tls.stores import load_stores
from tests.certificates import Authority, write_trusted_pkcs12

ROOT = Authority("root")
MIDDLE = Authority("middle", ROOT)
BROKER = MIDDLE.issue("CN=broker,O=example", ("localhost", "127.0.0.1"))

EMPTY = (
    "MGUCAQMwEQYJKoZIhvcNAQcBoAQEAjAAME0wMTANBglghkgBZQMEAgEFAAQgvRhA1C9GKtsV91WnJw8aJp0OJlYglR4BL6Kgl7g6"
    "Xy4EFAREMqM0YnHQ0VgCCdL7oZgMR9iwAgInEA=="
)
"""A store of keytool, from which the only entry was deleted; the password is ``secret``."""


def secrets(settings):
    hidden = ("password", ".key", "chain", "certificates")
    return {name: Password(text) if name.endswith(hidden) else text for name, text in settings.items()}


def load(**settings):
    return load_stores(secrets({f"ssl.{name.replace('_', '.')}": text for name, text in settings.items()}))


def inline(**changes):
    whole = {
        "keystore_type": "PEM",
        "keystore_key": BROKER.key_text(),
        "keystore_certificate_chain": BROKER.chain(),
    }
    return {name: text for name, text in (whole | changes).items() if text is not None}


def refused(**settings):
    with pytest.raises(ConfigError) as caught:
        load(**settings)
    text = str(caught.value)
    assert "secret" not in text
    assert "BEGIN " not in text or "block" in text
    return text


def is_identity(identity, of=BROKER):
    chain = x509.load_pem_x509_certificates(identity.chain)
    key = serialization.load_pem_private_key(identity.key, None)
    return chain == [of.certificate, *of.issuers] and key.private_numbers() == of.key.private_numbers()


def test_without_settings_there_are_no_stores():
    stores = load()
    assert (stores.identity, stores.trusted, stores.files) == (None, None, ())


@pytest.mark.parametrize("password", [None, "secret"])
def test_a_key_store_may_be_a_pem_file(tmp_path, password):
    path = BROKER.write_pem(tmp_path / "broker.pem", password)
    settings = {} if password is None else {"key_password": password}
    stores = load(keystore_type="PEM", keystore_location=str(path), **settings)
    assert is_identity(stores.identity)
    assert stores.files == (path,)
    assert "PRIVATE" not in repr(stores)


@pytest.mark.parametrize("password", [None, "secret"])
def test_a_key_and_its_chain_may_stand_in_the_settings(password):
    settings = {} if password is None else {"key_password": password}
    stores = load(**inline(keystore_key=BROKER.key_text(password), **settings))
    assert is_identity(stores.identity)
    assert stores.files == ()


def test_pem_text_may_stand_on_one_line_with_other_text_around_the_blocks():
    key = "localKeyID: 01\n" + BROKER.key_text().replace("\n", " ")
    chain = "subject=CN = broker\n" + BROKER.chain().strip().replace("\n", "  ") + "\nthe end"
    assert is_identity(load(**inline(keystore_key=key, keystore_certificate_chain=chain)).identity)


def test_parameters_within_a_block_are_skipped():
    key = BROKER.key_text().replace("KEY-----\n", "KEY-----\nComment: of mine\n", 1)
    assert is_identity(load(**inline(keystore_key=key)).identity)


@pytest.mark.parametrize("kind", ["PKCS12", "pkcs12", "JKS", None])
def test_a_key_store_may_be_pkcs12_whose_chain_is_put_in_order(tmp_path, kind):
    # Java's type JKS, the default, opens PKCS12, too.
    path = BROKER.write_pkcs12(tmp_path / "broker.p12", "secret")
    settings = {} if kind is None else {"keystore_type": kind}
    stores = load(keystore_location=str(path), keystore_password="secret", **settings)
    assert is_identity(stores.identity)


@pytest.mark.parametrize("password", [None, "secret"])
def test_a_trust_store_may_be_pkcs12(tmp_path, password):
    path = write_trusted_pkcs12(tmp_path / "trusted.p12", password, ROOT.certificate, MIDDLE.certificate)
    settings = {} if password is None else {"truststore_password": password}
    stores = load(truststore_type="PKCS12", truststore_location=str(path), **settings)
    trusted = x509.load_pem_x509_certificates(stores.trusted)
    assert {each.subject for each in trusted} == {ROOT.name, MIDDLE.name}
    assert stores.files == (path,)


def test_a_trust_store_of_keytool_is_read(tmp_path):
    certificate = tmp_path / "root.pem"
    certificate.write_text(ROOT.text)
    path = tmp_path / "trusted.p12"
    command = ["keytool", "-importcert", "-noprompt", "-alias", "root", "-file", certificate]
    command += ["-keystore", path, "-storetype", "PKCS12", "-storepass", "secret"]
    subprocess.run(command, check=True, capture_output=True)
    stores = load(truststore_location=str(path), truststore_password="secret", truststore_type="PKCS12")
    assert x509.load_pem_x509_certificates(stores.trusted) == [ROOT.certificate]


def test_a_trust_store_may_be_pem_as_a_file_or_as_a_setting(tmp_path):
    path = tmp_path / "trusted.pem"
    path.write_text(ROOT.text + MIDDLE.text)
    from_file = load(truststore_type="PEM", truststore_location=str(path))
    from_text = load(truststore_type="PEM", truststore_certificates=ROOT.text + MIDDLE.text)
    assert from_file.trusted == from_text.trusted
    assert x509.load_pem_x509_certificates(from_file.trusted) == [ROOT.certificate, MIDDLE.certificate]


def test_an_error_names_the_setting_as_the_caller_does():
    with pytest.raises(ConfigError, match=r"zookeeper\.ssl\.keystore\.location has the value '/nowhere'"):
        load_stores({"ssl.keystore.location": "/nowhere"}, "zookeeper.{}".format)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (inline(keystore_type="PKCS12"), "ssl.keystore.type has the value 'PKCS12'; it must be PEM, because"),
        (inline(keystore_certificate_chain=None), "ssl.keystore.certificate.chain is not set"),
        (inline(keystore_key=None), r"certificate.chain has the value '\[hidden\]'; it must be not set"),
        (inline(keystore_location="/a"), "ssl.keystore.location has the value '/a'; it must be not set"),
        (inline(keystore_password="secret"), r"ssl.keystore.password .*it must be not set"),
        (inline(keystore_key="nonsense"), "ssl.keystore.key .* with one block BEGIN PRIVATE KEY .* not 0"),
        (inline(keystore_key=2 * BROKER.key_text()), "not 2"),
        (inline(keystore_key=BROKER.key_text("secret")), "ssl.key.password is not set; it must be given"),
        (
            inline(keystore_key=BROKER.key_text("secret"), key_password="other"),
            "ssl.key.password .* it must be the password of the private key",
        ),
        (inline(keystore_certificate_chain="none"), "ssl.keystore.certificate.chain .* BEGIN CERTIFICATE"),
        (inline(keystore_certificate_chain=ROOT.text), "begins with the certificate of the private key"),
        (inline(keystore_key=ROOT.text.replace("CERTIFICATE", "PRIVATE KEY")), "readable PKCS#8 key"),
        (inline(keystore_key=BROKER.key_text().replace("\n", "\n?", 2)), "is base64"),
        (
            inline(keystore_certificate_chain=BROKER.key_text().replace("PRIVATE KEY", "CERTIFICATE")),
            "readable certificates",
        ),
        (
            inline(keystore_key=BROKER.key_text().replace("PRIVATE", "EC PRIVATE")),
            "as `openssl pkcs8 -topk8` writes it",
        ),
        ({"keystore_password": "secret"}, "ssl.keystore.password .* because ssl.keystore.location is not"),
        ({"keystore_location": "/nowhere"}, "'/nowhere'; it must be a file that can be read: No such file"),
        ({"keystore_location": "/a", "keystore_type": "BKS"}, "'BKS'; it must be PKCS12 or PEM"),
        ({"truststore_password": "secret"}, "ssl.truststore.location is not"),
        ({"truststore_certificates": ROOT.text}, "ssl.truststore.type is not set; it must be PEM"),
        (
            {"truststore_type": "PEM", "truststore_certificates": ROOT.text, "truststore_location": "/a"},
            "ssl.truststore.location",
        ),
        (
            {"truststore_type": "PEM", "truststore_certificates": ROOT.text, "truststore_password": "secret"},
            "ssl.truststore.password",
        ),
        ({"truststore_type": "PEM", "truststore_certificates": "none"}, "ssl.truststore.certificates"),
    ],
)
def test_a_bad_setting_is_named(settings, message):
    with pytest.raises(ConfigError, match=message):
        load(**settings)
    refused(**settings)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("stores")
    BROKER.write_pem(tmp_path / "broker.pem")
    BROKER.write_pkcs12(tmp_path / "broker.p12", "secret")
    write_trusted_pkcs12(tmp_path / "trusted.p12", "secret", ROOT.certificate)
    (tmp_path / "trusted.pem").write_text(ROOT.text)
    (tmp_path / "broker.jks").write_bytes(b"\xfe\xed\xfe\xed\x00\x00\x00\x02")
    (tmp_path / "binary.pem").write_bytes(b"-----BEGIN \xff")
    (tmp_path / "broken.p12").write_bytes(b"0\x82")
    (tmp_path / "none.p12").write_bytes(base64.b64decode(EMPTY))
    return tmp_path


@pytest.mark.parametrize(
    ("file", "settings", "message"),
    [
        (
            "broker.jks",
            {},
            "location .*only Java reads JKS; convert it with `keytool -importkeystore -srckeystore",
        ),
        ("broker.jks", {"keystore_type": "PEM"}, "-deststoretype PKCS12"),
        ("broker.pem", {"keystore_type": "JKS"}, "ssl.keystore.type has the value 'JKS'; it must be PEM"),
        ("broker.p12", {"keystore_type": "PEM"}, "ssl.keystore.type has the value 'PEM'; it must be PKCS12"),
        ("broker.pem", {"keystore_password": "secret"}, "keystore.password .* it must be not set"),
        ("trusted.pem", {}, "ssl.keystore.location .* one block BEGIN PRIVATE KEY"),
        ("binary.pem", {}, "a PEM file in UTF-8"),
        (
            "broker.p12",
            {},
            "ssl.keystore.password is not set; it must be given, because .* is a PKCS12 store",
        ),
        ("broker.p12", {"keystore_password": "no"}, "keystore.password .* must be the password of the store"),
        (
            "broker.p12",
            {"keystore_password": "secret", "key_password": "no"},
            "ssl.key.password .* that of the store",
        ),
        (
            "trusted.p12",
            {"keystore_password": "secret"},
            "location .* with a private key and its certificate",
        ),
        ("broken.p12", {"keystore_password": "secret"}, "ssl.keystore.location .* must be a PKCS12 store"),
    ],
)
def test_a_bad_key_store_is_named(files, file, settings, message):
    with pytest.raises(ConfigError, match=message):
        load(keystore_location=str(files / file), **settings)


@pytest.mark.parametrize(
    ("file", "settings", "message"),
    [
        ("broker.jks", {}, "ssl.truststore.location .*only Java reads JKS"),
        ("trusted.pem", {"truststore_password": "secret"}, "truststore.password .* it must be not set"),
        (
            "trusted.p12",
            {},
            "ssl.truststore.password is not set; it must be given, because the store is encrypted",
        ),
        ("trusted.p12", {"truststore_password": "no"}, "must be the password of the store"),
        ("broker.p12", {"truststore_password": "secret"}, "without a private key"),
        ("none.p12", {"truststore_password": "secret"}, "at least one trusted certificate"),
    ],
)
def test_a_bad_trust_store_is_named(files, file, settings, message):
    with pytest.raises(ConfigError, match=message):
        load(truststore_location=str(files / file), **settings)
