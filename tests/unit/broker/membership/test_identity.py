import re
from types import SimpleNamespace

import pytest

from barnabas.broker.config.broker_config import parse
from barnabas.broker.config.start_error import StartError
from barnabas.broker.membership.identity import broker_id_of, new_cluster_id, stored_broker_id
from barnabas.cluster.zk.client.operations import Stat


class Session:
    async def set(self, path, _data):
        assert path == "/brokers/seqid"
        return Stat(version=3, czxid=1, mzxid=4)


STORE = SimpleNamespace(session=Session())


def config(directory, **given):
    settings = {name.replace("_", "."): value for name, value in given.items()}
    return parse({"zookeeper.connect": "z", "log.dirs": str(directory), **settings}, hostname="here")[0]


def test_a_cluster_id_is_a_uuid_in_22_characters():
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", new_cluster_id())
    assert new_cluster_id() != new_cluster_id()


async def test_the_configured_number_comes_first(tmp_path):
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=7\ncluster.id=c\n")
    assert await broker_id_of(config(tmp_path, broker_id="2"), STORE) == 2


async def test_then_the_stored_one(tmp_path):
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=7\ncluster.id=c\n")
    assert await broker_id_of(config(tmp_path), STORE) == 7


async def test_else_one_is_generated(tmp_path):
    assert await broker_id_of(config(tmp_path), STORE) == 1003


def test_directories_that_are_nobodys_say_nothing(tmp_path):
    assert stored_broker_id([tmp_path, tmp_path / "absent"]) is None


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "meta.properties").write_text("version=9\n")
    with pytest.raises(StartError, match=r"meta\.properties"):
        stored_broker_id([tmp_path])
