from __future__ import annotations

import pytest

from barnabas.cluster.zk.errors import BadVersion, NodeExists, NoNode, NotEmpty, RequestFailed, ZooKeeperError


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
