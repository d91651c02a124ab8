import pytest

from barnabas.chaos.nemeses import wiping as module
from barnabas.chaos.nemeses.wiping import in_sync, missing, wipe, wipe_parent
from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.zookeeper_wire import Stat, WireError


class Tree:
    """ZooKeeper's tree, as far as it is asked; what is in ``returning`` comes back so many times."""

    def __init__(self, **znodes):
        self.znodes = znodes
        self.returning = {}

    def __call__(self, address):
        assert address == "z:1"
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def connect(self):
        pass

    def stat(self, path):
        return Stat(1, 1) if path in self.znodes else None

    def data(self, path):
        return self.znodes.get(path)

    def children(self, path):
        below = [name.removeprefix(f"{path}/") for name in self.znodes if name.startswith(f"{path}/")]
        return sorted({name.partition("/")[0] for name in below})

    def delete(self, path):
        if path not in self.znodes or self.children(path):
            return False
        content = self.znodes.pop(path)
        if self.returning.get(path, 0) > 0:
            self.returning[path] -= 1
            self.znodes[path] = content
        return True


@pytest.fixture
def tree(monkeypatch):
    def tree(**znodes):
        tree = Tree(**znodes)
        monkeypatch.setattr(module, "Connection", tree)
        return tree

    return tree


def test_what_is_there_is_wiped_and_then_missing(tree):
    tree(**{"/controller": b"", "/other": b""})
    assert wipe("z:1", ["/controller", "/brokers/ids/9"]) == ["/controller"]
    assert missing("z:1", ["/controller", "/other"]) == ["/controller"]


def test_where_nothing_is_there_nothing_was_hit(tree):
    tree()
    with pytest.raises(WireError, match="/controller: there is no such znode"):
        wipe("z:1", ["/controller"])


def test_a_parent_goes_with_its_children_though_they_come_back(tree):
    ids = tree(**{"/brokers/ids": b"", "/brokers/ids/1": b"", "/brokers/ids/2": b""})
    ids.returning["/brokers/ids/2"] = 3
    assert wipe_parent("z:1", "/brokers/ids") == ["/brokers/ids/1", "/brokers/ids/2", "/brokers/ids"]
    assert not ids.znodes


def test_a_parent_that_is_never_empty_stays(tree):
    tree(**{"/brokers/ids": b"", "/brokers/ids/1": b""}).returning["/brokers/ids/1"] = 1_000
    with pytest.raises(WireError, match="/brokers/ids is still there after 50 tries"):
        wipe_parent("z:1", "/brokers/ids")


def test_the_isr_is_read_where_there_is_a_state_and_no_deletion(tree):
    state = b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,3]}'
    tree(
        **{
            "/brokers/topics/t/partitions/0/state": state,
            "/brokers/topics/t/partitions/1": b"",
            "/brokers/topics/gone/partitions/0/state": state,
            "/admin/delete_topics/gone": b"",
        }
    )
    assert in_sync("z:1") == {TopicPartition("t", 0): {1, 3}}
