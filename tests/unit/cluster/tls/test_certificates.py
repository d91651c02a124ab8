import pytest

from barnabas.cluster.tls.certificates import CertificateOwner, owner_of
from tests.certificates import Authority

ROOT = Authority("root")


@pytest.mark.parametrize(
    ("hosts", "found"),
    [(("localhost", "127.0.0.1"), ("localhost", "127.0.0.1")), ((), ("broker",))],
)
def test_a_certificate_says_who_it_is_for(hosts, found):
    issued = ROOT.issue("CN=broker,O=example", hosts)
    assert owner_of(issued.chain().encode()) == CertificateOwner("CN=broker,O=example", found)


def test_a_certificate_without_any_name_is_for_no_host():
    assert owner_of(ROOT.issue("O=example").chain().encode()).hosts == ()


def test_what_is_no_certificate_is_refused():
    with pytest.raises(ValueError, match="PEM"):
        owner_of(b"nothing")
