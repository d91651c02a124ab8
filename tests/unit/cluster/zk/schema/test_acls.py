from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.acls import (
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from barnabas.cluster.zk.schema.acls import (
    ACL_PATHS,
    acl_resource,
    decode_acl_change,
    decode_acls,
    encode_acl_change,
    encode_acls,
)
from barnabas.cluster.zk.schema.body import ZnodeDecodeError

LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
READ = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)
BODY = b'{"version":1,"acls":[{"principal":"User:a","permissionType":"Allow","operation":"Read","host":"*"}]}'
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
ENTRIES = st.frozensets(
    st.builds(
        AccessControlEntry,
        TEXT,
        TEXT,
        st.sampled_from([each for each in AclOperation if each is not AclOperation.ANY]),
        st.sampled_from([AclPermission.ALLOW, AclPermission.DENY]),
    ),
    max_size=5,
)


def test_bodies_are_those_of_kafka():
    assert encode_acls({READ}) == BODY
    assert decode_acls("/p", BODY) == {READ}
    capitals = BODY.replace(b"Allow", b"ALLOW").replace(b"Read", b"READ")
    assert decode_acls("/p", capitals) == {READ}
    assert decode_acls("/p", b"") == frozenset()


def test_paths_are_those_of_kafka():
    assert acl_resource(ResourcePattern(ResourceType.TRANSACTIONAL_ID, "t")) == "/kafka-acl/TransactionalId/t"
    prefixed = ResourcePattern(ResourceType.TOPIC, "t", PREFIXED)
    assert acl_resource(prefixed) == "/kafka-acl-extended/prefixed/Topic/t"
    assert ACL_PATHS == (
        "/kafka-acl/Topic",
        "/kafka-acl/Group",
        "/kafka-acl/Cluster",
        "/kafka-acl/TransactionalId",
        "/kafka-acl/DelegationToken",
        "/kafka-acl-extended/prefixed/Topic",
        "/kafka-acl-extended/prefixed/Group",
        "/kafka-acl-extended/prefixed/Cluster",
        "/kafka-acl-extended/prefixed/TransactionalId",
        "/kafka-acl-extended/prefixed/DelegationToken",
        "/kafka-acl-changes",
        "/kafka-acl-extended-changes",
    )


@given(ENTRIES)
def test_acls_are_read_as_they_were_written(entries):
    assert decode_acls("/p", encode_acls(entries)) == entries


@given(TEXT, st.sampled_from([LITERAL, PREFIXED]), st.sampled_from(list(ResourceType)))
def test_a_notification_is_read_as_it_was_written(name, pattern, kind):
    resource = ResourcePattern(kind, name, pattern)
    assert decode_acl_change("/p", encode_acl_change(resource), pattern) == resource


def test_notifications_are_those_of_kafka():
    assert encode_acl_change(ResourcePattern(ResourceType.TOPIC, "a:b")) == b"TOPIC:a:b"
    assert encode_acl_change(ResourcePattern(ResourceType.GROUP, "g", PREFIXED)) == (
        b'{"version":1,"resourceType":"GROUP","name":"g","patternType":"PREFIXED"}'
    )
    assert decode_acl_change("/p", b"Topic:t", LITERAL) == ResourcePattern(ResourceType.TOPIC, "t")


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        BODY.replace(b'"version":1', b'"version":2'),
        BODY.replace(b"acls", b"acl"),
        BODY.replace(b"Read", b"Reed"),
        BODY.replace(b"Read", b"Any"),
        BODY.replace(b"Allow", b"Any"),
        BODY.replace(b"Allow", b"ANY"),
        BODY.replace(b'"host":"*"', b'"host":1'),
        BODY.replace(b',"host":"*"', b""),
    ],
)
def test_acls_that_cannot_be_read_are_an_error_and_not_none(content):
    with pytest.raises(ZnodeDecodeError, match="/p holds"):
        decode_acls("/p", content)


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        (b"TOPIC", LITERAL),
        (b"Toppic:t", LITERAL),
        (b"\xff:t", LITERAL),
        (b"{}", PREFIXED),
        (b'{"version":2,"resourceType":"GROUP","name":"g","patternType":"PREFIXED"}', PREFIXED),
        (b'{"version":1,"resourceType":"GROUP","name":"g","patternType":"Prefix"}', PREFIXED),
    ],
)
def test_a_notification_that_cannot_be_read_is_an_error(content, pattern):
    with pytest.raises(ZnodeDecodeError, match="/p holds"):
        decode_acl_change("/p", content, pattern)
