from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kazoo.protocol import serialization as jute
from kazoo.security import ACL, Id

from barnabas.cluster.zk.client.errors import (
    BadVersion,
    NodeExists,
    NoNode,
    NotEmpty,
    RequestFailed,
    ZooKeeperError,
)
from barnabas.cluster.zk.client.operations import Check, Create, Delete, Operation, Set, request_bytes
from barnabas.cluster.zk.schema.znode_acls import OPEN, PRIVATE, READABLE

paths = st.text(min_size=1, max_size=40).map(lambda text: f"/{text}")
data = st.binary(max_size=200)
operations = st.one_of(
    st.builds(Create, paths, data, st.booleans(), st.booleans(), st.sampled_from((OPEN, PRIVATE, READABLE))),
    st.builds(Set, paths, data, st.integers(-1, 9)),
    st.builds(Delete, paths, st.integers(-1, 9)),
    st.builds(Check, paths, st.integers(0, 9)),
)


def on_the_wire(operation: Operation) -> object:
    match operation:
        case Create(path, content, acl=acl):
            entries = [ACL(entry.permissions, Id(entry.scheme, entry.id)) for entry in acl]
            return jute.Create(path, content, entries, 3)
        case Set(path, content, version):
            return jute.SetData(path, content, version)
        case Delete(path, version):
            return jute.Delete(path, version)
        case Check(path, version):
            return jute.CheckVersion(path, version)


@given(st.lists(operations, min_size=1, max_size=20))
@example([Create("/", b"", acl=READABLE)])
def test_the_size_is_never_underestimated(batch: list[Operation]) -> None:
    actual = len(jute.Transaction([on_the_wire(operation) for operation in batch]).serialize())
    assert actual <= request_bytes(*batch) <= actual + 70 * len(batch)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (NoNode("/a"), "/a does not exist"),
        (NodeExists("/a", resent=True), "/a exists already (the request was sent more than once)"),
        (BadVersion("/a", 2), "/a has another version than expected"),
        (NotEmpty("/a"), "/a has children"),
        (RequestFailed("/a", detail="NoAuthError"), "/a was refused: NoAuthError"),
    ],
)
def test_an_error_names_the_node_and_what_is_wrong(error: RequestFailed, text: str) -> None:
    assert str(error) == text
    assert isinstance(error, ZooKeeperError)
