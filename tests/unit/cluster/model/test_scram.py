"""SCRAM credentials: their text in ZooKeeper, and the rules of AlterUserScramCredentials."""

from __future__ import annotations

import pytest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.scram import (
    BY_NAME,
    CredentialRefused,
    Deletion,
    ScramCredential,
    ScramMechanism,
    Upsertion,
    altered_credentials,
    credential_of,
    credentials_of,
    parse_credential,
    refusal_of,
)

SHA_256, SHA_512 = ScramMechanism
TEXT = "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=4096"


def test_the_mechanisms_have_kafkas_names_and_numbers():
    assert {name: int(each) for name, each in BY_NAME.items()} == {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
    assert [each.hash_name for each in ScramMechanism] == ["sha256", "sha512"]


def test_a_credential_has_kafkas_text_and_shows_no_key():
    credential = ScramCredential(b"salt", b"stored", b"server", 4096)
    assert credential.text == TEXT
    assert parse_credential(TEXT) == credential
    assert repr(credential) == "ScramCredential(iterations=4096)"
    assert "secret" not in repr(Upsertion("a", 1, 4096, b"salt", b"secret"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        TEXT + ",more=1",
        TEXT.replace("salt=", "pepper="),
        TEXT.replace("4096", "many"),
        TEXT.replace("==", ""),
    ],
)
def test_an_unreadable_credential_is_left_out_and_not_repeated(text):
    with pytest.raises(ValueError, match="a SCRAM credential") as error:
        parse_credential(text)
    assert "c3RvcmVk" not in str(error.value)
    assert credentials_of({"SCRAM-SHA-256": text, "SCRAM-SHA-512": TEXT}) == {SHA_512: parse_credential(TEXT)}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (Deletion("", 1), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (Deletion("a", 0), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (
            Upsertion("a", 3, 4096, b"s", b"p"),
            ErrorCode.UNSUPPORTED_SASL_MECHANISM,
            "Unknown SCRAM mechanism",
        ),
        (Upsertion("a", 1, 4095, b"s", b"p"), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        (Upsertion("a", 1, 16385, b"s", b"p"), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
    ],
)
def test_a_bad_alteration_refuses_all_of_its_user(change, error, message):
    good = [Deletion("a", 1), Deletion("a", 2)]
    deletions = [change] if isinstance(change, Deletion) else []
    upsertions = [change] if isinstance(change, Upsertion) else []
    assert refusal_of([*deletions, *good], upsertions) == CredentialRefused(error, message)
    assert refusal_of(good, []) is None


def test_a_mechanism_is_altered_once():
    refused = refusal_of([Deletion("a", 1)], [Upsertion("a", 1, 4096, b"s", b"p")])
    assert refused.error is ErrorCode.DUPLICATE_RESOURCE


def test_of_many_alterations_of_a_user_three_are_looked_at():
    looked = []

    def many():
        for number in range(100_000):
            looked.append(number)
            yield Deletion("a", 1 + number % 2)

    assert refusal_of(many(), []).error is ErrorCode.DUPLICATE_RESOURCE
    assert len(looked) == 3


def test_alterations_keep_quotas_and_the_other_mechanism():
    settings = {"producer_byte_rate": "5", "SCRAM-SHA-256": TEXT}
    salted = SHA_512.salted_password("secret", b"salt", 8192)
    own = altered_credentials(settings, [Deletion("a", 1)], [Upsertion("a", 2, 8192, b"salt", salted)])
    expected = credential_of(SHA_512, b"salt", 8192, salted).text
    assert own == {"producer_byte_rate": "5", "SCRAM-SHA-512": expected}


def test_a_missing_credential_cannot_be_deleted():
    refused = altered_credentials({}, [Deletion("a", 1)], [])
    assert isinstance(refused, CredentialRefused)
    assert refused.error is ErrorCode.RESOURCE_NOT_FOUND
