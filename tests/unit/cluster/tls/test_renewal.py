import pytest

from barnabas.cluster.model.configs.declarations import Password
from barnabas.cluster.tls.renewal import refusal_of
from barnabas.cluster.tls.stores import load_stores
from tests.certificates import Authority

ROOT = Authority("root")


def stores(subject="CN=broker", hosts=(), trusted=True):
    values = {}
    if subject is not None:
        issued = ROOT.issue(subject, hosts)
        values |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": Password(issued.key_text()),
            "ssl.keystore.certificate.chain": Password(issued.chain()),
        }
    if trusted:
        values |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": Password(ROOT.text)}
    return load_stores(values)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (stores(), stores()),
        (stores(hosts=("a", "127.0.0.1")), stores(hosts=("127.0.0.1", "b", "a"))),
        (stores(), stores(hosts=("a",))),
        (stores(None), stores(None)),
    ],
)
def test_a_store_with_the_same_names_may_take_the_place(old, new):
    assert refusal_of(old, new) is None


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (stores(), stores("CN=other"), "its certificate is for CN=other, not for CN=broker as that in use"),
        (stores(hosts=("a", "b")), stores(hosts=("b",)), "its certificate lacks names of that in use: a"),
        (stores(hosts=("10.0.0.1",)), stores(), "its certificate lacks names of that in use: 10.0.0.1"),
        (stores(None), stores(), "a key store can be neither added nor removed"),
        (stores(), stores(None), "a key store can be neither added nor removed"),
        (stores(), stores(trusted=False), "a trust store can be neither added nor removed"),
        (stores(trusted=False), stores(), "a trust store can be neither added nor removed"),
    ],
)
def test_a_store_with_other_names_may_not(old, new, reason):
    assert refusal_of(old, new) == reason
