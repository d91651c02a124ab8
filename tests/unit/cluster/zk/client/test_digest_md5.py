"""DIGEST-MD5 against the example of RFC 2831, and against servers that lie."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.zk.client.digest_md5 import DigestMd5, DigestMd5Error
from barnabas.cluster.zk.client.security import Login

CHALLENGE = b'realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,charset=utf-8'
PROOF = b"rspauth=ea40f60335c427b5527b84dbabcdfffd"


def client(username="chris", password="secret"):
    return DigestMd5(Login(username, password), "OA6MHXh6VqTrRk", "imap/elwood.innosoft.com")


def test_the_example_of_the_rfc():
    digest = client()
    assert digest.respond(CHALLENGE).decode().split(",") == [
        'username="chris"',
        'realm="elwood.innosoft.com"',
        'nonce="OA6MG9tEQGm2hh"',
        "nc=00000001",
        'cnonce="OA6MHXh6VqTrRk"',
        'digest-uri="imap/elwood.innosoft.com"',
        "response=d388dad90d4bbd760a152321f2143af7",
        "qop=auth",
        "charset=utf-8",
    ]
    digest.verify(PROOF)


def test_names_are_quoted_and_hashed_as_java_does():
    assert b'username="a\\"b\\\\c"' in client('a"b\\c').respond(CHALLENGE)
    latin, other = (client(name).respond(CHALLENGE) for name in ("jürgen", "ivàn Ж"))
    assert 'username="jürgen"'.encode() in latin
    assert 'username="ivàn Ж"'.encode() in other
    assert b"response=41d9729b625ab325b0e7a29382eb1bfa" in latin
    assert b"response=5eab425977da8a7609aacf1c644fb0dc" in other


@pytest.mark.parametrize(
    ("challenge", "reason"),
    [
        (b"", "no challenge of DIGEST-MD5"),
        (b'nonce="n"', "no challenge of DIGEST-MD5"),
        (b'nonce="n",algorithm=md5', "no challenge of DIGEST-MD5"),
        (b'realm="r",algorithm=md5-sess', "no challenge of DIGEST-MD5"),
        (PROOF, "no challenge of DIGEST-MD5"),
        (b'nonce="n",algorithm=md5-sess,qop="auth-int,auth-conf"', "auth-int,auth-conf, not auth"),
        (b'nonce="n', "malformed at character 1"),
        (b"algorithm=md5-sess,=", "malformed at character 20"),
        (b'nonce="\xff"', "not UTF-8"),
    ],
)
def test_another_challenge_is_refused(challenge, reason):
    with pytest.raises(DigestMd5Error, match=reason):
        client().respond(challenge)


@pytest.mark.parametrize("answer", [b"", b"rspauth=00", PROOF.replace(b"f", b"e"), 'rspauth="ä"'.encode()])
def test_a_server_that_does_not_know_the_password_is_refused(answer):
    digest = client()
    digest.respond(CHALLENGE)
    with pytest.raises(DigestMd5Error, match="does not know the password"):
        digest.verify(answer)


def test_a_proof_before_the_challenge_proves_nothing():
    with pytest.raises(DigestMd5Error, match="does not know the password"):
        client().verify(b'rspauth=""')


@given(st.binary(max_size=80))
def test_any_message_is_answered_or_refused(message):
    with contextlib.suppress(DigestMd5Error):
        client().respond(message)
