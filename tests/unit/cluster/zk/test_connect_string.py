from __future__ import annotations

import pytest

from barnabas.cluster.zk.connect_string import parse_connect_string


@pytest.mark.parametrize(
    ("text", "servers", "chroot"),
    [
        ("localhost:2181", "localhost:2181", ""),
        ("localhost:2181/", "localhost:2181", ""),
        (" a:1,b:2,c:3/kafka ", "a:1,b:2,c:3", "/kafka"),
        ("[::1]:2181/deep/kafka/", "[::1]:2181", "/deep/kafka"),
    ],
)
def test_servers_and_chroot(text: str, servers: str, chroot: str) -> None:
    assert parse_connect_string(text) == (servers, chroot)


@pytest.mark.parametrize(
    "text", ["", "/kafka", "localhost", "a:1,", "a:1,b", "a:x", "a:1//kafka", "a b:1", "::1:2181"]
)
def test_what_is_malformed_is_named_with_what_was_expected(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"zookeeper.connect is .*, expected host:port\[,host:port...\]\[/chroot\]"
    ):
        parse_connect_string(text)
