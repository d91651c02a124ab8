import ssl

import pytest

from barnabas.cluster.tls.ciphers import TLS_1_2, TLS_1_3, CipherSuites, CipherSuitesError, suites_of
from barnabas.cluster.tls.terms import Terms


@pytest.mark.parametrize("name", TLS_1_2)
def test_openssl_has_each_suite(name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(TLS_1_2[name])
    assert TLS_1_2[name] in {each["name"] for each in context.get_ciphers()}


def test_the_suites_of_tls_1_3_are_those_that_openssl_offers_in_its_order():
    offered = [each["name"] for each in ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).get_ciphers()]
    assert [name for name in offered if name.startswith("TLS_")] == list(TLS_1_3)


@pytest.mark.parametrize(
    ("names", "suites"),
    [
        (["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"], CipherSuites(("ECDHE-RSA-AES256-GCM-SHA384",), ())),
        (
            ["TLS_RSA_WITH_AES_128_CBC_SHA256", "TLS_AES_256_GCM_SHA384"],
            CipherSuites(("AES128-SHA256",), ("TLS_AES_256_GCM_SHA384",)),
        ),
        (list(TLS_1_3), CipherSuites((), TLS_1_3)),
    ],
)
def test_suites_are_divided_by_version(names, suites):
    assert suites_of(names) == suites


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["SSL_RSA_WITH_RC4_128_MD5"], "which 'SSL_RSA_WITH_RC4_128_MD5' is not: TLS_AES_256_GCM_SHA384, "),
        (["ECDHE-RSA-AES256-GCM-SHA384"], "which 'ECDHE-RSA-AES256-GCM-SHA384' is not"),
        (
            ["TLS_CHACHA20_POLY1305_SHA256"],
            "a list with TLS_AES_256_GCM_SHA384 if it has other suites of TLS 1.3",
        ),
    ],
)
def test_other_suites_are_refused(names, message):
    with pytest.raises(CipherSuitesError, match=message):
        suites_of(names)


@pytest.mark.parametrize(
    ("protocols", "suites", "versions"),
    [
        (("TLSv1.3", "TLSv1.2"), None, ("TLSv1.2", "TLSv1.3")),
        (("TLSv1.3",), None, ("TLSv1.3",)),
        (("TLSv1.2", "TLSv1.3"), CipherSuites(("a",), ()), ("TLSv1.2",)),
        (("TLSv1.2", "TLSv1.3"), CipherSuites((), ("a",)), ("TLSv1.3",)),
        (("TLSv1.3",), CipherSuites(("a",), ()), ()),
    ],
)
def test_a_version_without_suites_is_not_offered(protocols, suites, versions):
    assert Terms("none", protocols, suites).versions == versions
