import contextlib
import re

import pytest
from cryptography import x509
from cryptography.x509.name import _ASN1Type as Kind
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.distinguished_name import rfc2253


def attribute(oid, value, kind=None):
    return x509.NameAttribute(x509.ObjectIdentifier(oid), value, _type=kind)


def text_of(*attributes):
    return rfc2253(x509.Name(attributes).public_bytes())


def test_the_most_specific_attribute_comes_first():
    keywords = ["2.5.4.6", "2.5.4.8", "2.5.4.7", "2.5.4.9", "2.5.4.10", "2.5.4.11"]
    others = ["0.9.2342.19200300.100.1.25", "0.9.2342.19200300.100.1.1", "2.5.4.3"]
    text = text_of(*(attribute(oid, "ab") for oid in keywords + others))
    assert text == "CN=ab,UID=ab,DC=ab,OU=ab,O=ab,STREET=ab,L=ab,ST=ab,C=ab"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Duke", "Duke"),
        ("a b", "a b"),
        (" a  ", r"\ a\ \ "),
        ('a,b+c=d<e>f#g;h"i\\j', r"a\,b\+c\=d\<e\>f\#g\;h\"i\\j"),
        ("é日", "é日"),
        ("a\0b", r"a\00b"),
        (" ", "\\ "),
    ],
)
def test_special_characters_are_escaped_as_java_does(value, text):
    # The texts are those of Java 17's X500Principal.getName.
    assert text_of(attribute("2.5.4.3", value)) == f"CN={text}"


def test_attributes_without_a_keyword_and_values_without_text_are_hex():
    assert (
        text_of(attribute("1.2.840.113549.1.9.1", "a@b", Kind.IA5String))
        == "1.2.840.113549.1.9.1=#1603614062"
    )
    bits = bytes.fromhex("300e310c300a06035504030303000102")
    assert rfc2253(bits) == "CN=#0303000102"


def test_attributes_of_one_set_are_joined():
    both = x509.RelativeDistinguishedName([attribute("2.5.4.3", "a"), attribute("2.5.4.11", "b")])
    name = x509.Name([x509.RelativeDistinguishedName([attribute("2.5.4.10", "c")]), both])
    assert rfc2253(name.public_bytes()) == "CN=a+OU=b,O=c"


def test_a_long_value_has_its_length_in_more_bytes():
    parts = {"2.5.4.3": "x" * 60, "2.5.4.11": "y" * 64, "2.5.4.10": "z" * 64}
    text = text_of(*(attribute(oid, value) for oid, value in parts.items()))
    assert text == f"O={'z' * 64},OU={'y' * 64},CN={'x' * 60}"


@given(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=4))
def test_names_come_back_without_the_escapes(values):
    text = text_of(*(attribute("2.5.4.10", value, Kind.UTF8String) for value in values))
    parts = re.findall(r"O=((?:\\00|\\.|[^,\\])*)(?:,|$)", text, re.DOTALL)
    found = [
        re.sub(r"\\(00|.)", lambda m: "\0" if m[1] == "00" else m[1], part, flags=re.DOTALL) for part in parts
    ]
    assert found == values[::-1]


@pytest.mark.parametrize(
    "der",
    [
        b"",
        b"0",
        b"\x30\x05",
        b"\x31\x00",
        b"\x30\x02\x30\x00",
        "3004310230003000",
        "30053103040100",
        "300431023000",
        "30093107300506000c0161",
        "300b31093007060155040c0161",
    ],
)
def test_bytes_that_are_no_name_are_refused(der):
    with pytest.raises(ValueError, match=r"expected|unpack"):
        rfc2253(bytes.fromhex(der) if isinstance(der, str) else der)


@given(st.binary(max_size=40))
def test_no_bytes_do_more_than_raise_value_error(der):
    with contextlib.suppress(ValueError):
        assert isinstance(rfc2253(der), str)
