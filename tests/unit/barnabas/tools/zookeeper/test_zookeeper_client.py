from __future__ import annotations

import pytest

from barnabas.tools.zookeeper.zookeeper_client import ZooKeeperClientError, read_tls_file, take_tls_file


def test_a_file_has_settings_of_tls_alone(tmp_path):
    file = tmp_path / "tls.properties"
    file.write_text("zookeeper.ssl.client.enable=true\nzookeeper.set.acl=true\nother=x\n")
    assert read_tls_file(str(file)) == {"zookeeper.ssl.client.enable": "true"}
    assert read_tls_file(None) == {}


def test_the_shells_flag_may_stand_anywhere(tmp_path):
    file = tmp_path / "tls.properties"
    file.write_text("zookeeper.ssl.protocol=TLSv1.3")
    words = ["get", "-zk-tls-config-file", str(file), "/a"]
    assert take_tls_file(words) == {"zookeeper.ssl.protocol": "TLSv1.3"}
    assert words == ["get", "/a"]
    assert take_tls_file(words) == {}


@pytest.mark.parametrize("content", [None, b"\xff"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, content):
    file = tmp_path / "tls.properties"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ZooKeeperClientError, match=r"tls\.properties cannot be read"):
        read_tls_file(str(file))
