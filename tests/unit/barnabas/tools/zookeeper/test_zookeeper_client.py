from __future__ import annotations

from barnabas.tools.zookeeper.zookeeper_client import read_tls_file, take_tls_file


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
