"""The syntax of JAAS entries and files."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.jaas import JaasEntry, JaasError, parse_jaas, parse_jaas_file

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_an_entry_has_a_module_and_options():
    text = f'{MODULE} required\n  username="admin" user_alice=\'a "b"\' debug=true;'
    entry = parse_jaas(text)
    assert entry == JaasEntry(MODULE, {"username": "admin", "user_alice": 'a "b"', "debug": "true"})
    assert "admin" not in repr(entry)


def test_comments_and_escapes_are_read_as_java_reads_them():
    text = f'{MODULE} /* a\n b */ REQUIRED // c\n a="x\\"y\\\\z\\n" / until the end of the line\n;'
    assert parse_jaas(text).options == {"a": 'x"y\\z\n'}


def test_an_entry_may_have_no_options():
    assert parse_jaas("m.M optional;") == JaasEntry("m.M", {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "a login module, a flag"),
        ("; required;", "the name of a login module first"),
        ("m.M always a=b;", "one of optional, required"),
        ("m.M required a=b", "a semicolon at the end"),
        ("m.M required a=b; n.N required c=d;", "one login module"),
        ('m.M required a="b" c;', 'options of the form key="value" behind a'),
        ("m.M required a;", 'options of the form key="value"$'),
        ("m.M required a = = ;", "options of the form"),
        ("m.M required a=;", "options of the form"),
        ("m.M required a = b c = ;", "options of the form"),
        ("m.M required a=42;", "character 16 begins none of these"),
        ('m.M required a="open;', "begins none of these"),
    ],
)
def test_another_text_is_refused(text, expected):
    with pytest.raises(JaasError, match=expected):
        parse_jaas(text)


@given(st.dictionaries(st.from_regex(r"[A-Za-z_]\w*", fullmatch=True), st.text()))
def test_every_value_can_be_quoted(options):
    escapes = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
    quoted = " ".join(f'{name}="{value.translate(escapes)}"' for name, value in options.items())
    assert parse_jaas(f"{MODULE} required {quoted};").options == options


@given(st.text(max_size=60))
def test_any_text_is_an_entry_or_refused(text):
    with contextlib.suppress(JaasError):
        parse_jaas(f"m.M required {text}")


FILE = """
// The broker's logins.
KafkaServer {
    org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="};";
    n.N optional;
};
Client { org.apache.zookeeper.server.auth.DigestLoginModule required
    username="kafka" password="secret"; };
external.Empty { };
"""


def test_a_file_has_sections_of_entries():
    sections = parse_jaas_file(FILE)
    assert sections == {
        "KafkaServer": (JaasEntry(MODULE, {"user_alice": "};"}), JaasEntry("n.N", {})),
        "Client": (
            JaasEntry(
                "org.apache.zookeeper.server.auth.DigestLoginModule",
                {"username": "kafka", "password": "secret"},
            ),
        ),
        "external.Empty": (),
    }
    assert "secret" not in repr(sections)
    assert parse_jaas_file("// nothing") == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Client", "sections of the form"),
        ("{ };", "sections of the form"),
        ("Client = { };", "sections of the form"),
        ("A { }; A { };", "the section A once"),
        ("A { m.M required; }", "}; at the end of section A"),
        ("A { m.M required;", "}; at the end of section A"),
        ("A { m.M required };", "a login module, a flag"),
        ("A { m.M required a=b };", "a semicolon at the end"),
        ("A { m.M required a={; };", "options of the form"),
        ("m.M required a=b;", "sections of the form"),
    ],
)
def test_another_file_is_refused(text, expected):
    with pytest.raises(JaasError, match=expected):
        parse_jaas_file(text)


@given(st.text(alphabet="aM .;={}\"'/*\n", max_size=40))
def test_any_text_is_a_file_or_refused(text):
    with contextlib.suppress(JaasError):
        parse_jaas_file(text)
