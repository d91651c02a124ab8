import pytest

from barnabas.cluster.model.configs.declarations import ConfigError, Type, table
from barnabas.cluster.model.configs.zookeeper import ZOOKEEPER_CONFIGS

CONFIGS = table(ZOOKEEPER_CONFIGS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("zookeeper.ssl.protocol", "SSLv3"),
        ("zookeeper.ssl.enabled.protocols", "TLSv1.2,TLSv1"),
        ("zookeeper.ssl.enabled.protocols", ""),
        ("zookeeper.ssl.crl.enable", "true"),
        ("zookeeper.ssl.ocsp.enable", "true"),
    ],
)
def test_what_is_not_served_is_refused(name, text):
    with pytest.raises(ConfigError, match=name):
        CONFIGS[name].parse(text)


def test_versions_of_tls():
    assert CONFIGS["zookeeper.ssl.protocol"].parse("TLSv1.3") == "TLSv1.3"
    assert CONFIGS["zookeeper.ssl.enabled.protocols"].parse("TLSv1.3,TLSv1.2") == ("TLSv1.3", "TLSv1.2")
    assert CONFIGS["zookeeper.ssl.crl.enable"].parse("false") is False


def test_passwords_are_secrets():
    names = {name for name in CONFIGS if name.endswith("password")}
    assert names == {"zookeeper.ssl.keystore.password", "zookeeper.ssl.truststore.password"}
    assert {CONFIGS[name].type for name in names} == {Type.PASSWORD}
