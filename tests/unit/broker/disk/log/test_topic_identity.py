"""The file that says which topic a log is of."""

from __future__ import annotations

import pytest

from barnabas.broker.disk.log.topic_identity import LogIdentity, read_identity, write_identity
from barnabas.cluster.model.ids import TopicIdentity

IDENTITY = TopicIdentity(1_700_000_000_000, 2**63 - 1)
NAME = "topic-identity-checkpoint"


def test_what_is_written_is_read(tmp_path):
    assert read_identity(tmp_path) is None
    for identity in (TopicIdentity(5, 8), IDENTITY):
        write_identity(tmp_path, identity)
        assert read_identity(tmp_path) == identity
    assert (tmp_path / NAME).read_bytes() == b"0\n1\n1700000000000 9223372036854775807\n"


@pytest.mark.parametrize("cut", range(len(b"0\n1\n5 8\n")))
def test_a_file_that_was_cut_off_says_nothing(tmp_path, cut):
    write_identity(tmp_path, TopicIdentity(5, 8))
    whole = (tmp_path / NAME).read_bytes()
    (tmp_path / NAME).write_bytes(whole[:cut])
    assert read_identity(tmp_path) is None


@pytest.mark.parametrize(
    "content", [b"\0" * 8, b"1\n1\n5 8\n", b"0\n2\n5 8\n", b"0\n1\n5 -8\n", b"0\n1\n5 8 \n", b"0\n1\n5 8\n\n"]
)
def test_a_damaged_file_says_nothing(tmp_path, content):
    (tmp_path / NAME).write_bytes(content)
    assert read_identity(tmp_path) is None


def test_a_topic_is_written_when_it_is_stored_and_only_if_it_is_new(tmp_path):
    identity = LogIdentity(tmp_path, None)
    identity.store()
    assert (identity.is_pending, read_identity(tmp_path)) == (False, None)
    identity.assign(IDENTITY)
    assert (identity.topic, identity.is_pending, read_identity(tmp_path)) == (IDENTITY, True, None)
    identity.assign(IDENTITY)
    identity.store()
    assert (identity.is_pending, read_identity(tmp_path)) == (False, IDENTITY)
    (tmp_path / NAME).unlink()
    identity.assign(IDENTITY)
    identity.store()
    assert read_identity(tmp_path) is None
    identity.assign(TopicIdentity(5, 8))
    identity.store()
    assert read_identity(tmp_path) == TopicIdentity(5, 8)
