from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.zk.schema import paths


def test_paths_are_kafkas() -> None:
    tp = TopicPartition("orders", 3)
    assert paths.broker(BrokerId(1)) == "/brokers/ids/1"
    assert paths.topic("orders") == "/brokers/topics/orders"
    assert paths.topic_partitions("orders") == "/brokers/topics/orders/partitions"
    assert paths.partition(tp) == "/brokers/topics/orders/partitions/3"
    assert paths.partition_state(tp) == "/brokers/topics/orders/partitions/3/state"
    assert paths.consumer_offset("g", tp) == "/consumers/g/offsets/orders/3"
    assert paths.delete_topic("orders") == "/admin/delete_topics/orders"
    assert paths.config("topics", "orders") == "/config/topics/orders"
    assert paths.config("brokers", paths.DEFAULT_ENTITY) == "/config/brokers/<default>"
    assert paths.ISR_CHANGE_PREFIX == "/isr_change_notification/isr_change_"
    assert paths.LOG_DIR_EVENT_PREFIX == "/log_dir_event_notification/log_dir_event_"
    assert paths.CONFIG_CHANGE_PREFIX == "/config/changes/config_change_"


def test_the_persistent_parents_are_kafkas() -> None:
    assert set(paths.PERSISTENT) == {
        "/consumers",
        "/brokers/ids",
        "/brokers/topics",
        "/config/changes",
        "/admin/delete_topics",
        "/brokers/seqid",
        "/isr_change_notification",
        "/latest_producer_id_block",
        "/log_dir_event_notification",
        "/config/topics",
        "/config/clients",
        "/config/users",
        "/config/brokers",
        "/config/ips",
    }


@pytest.mark.parametrize(
    ("path", "above"), [("/a", ()), ("/a/b", ("/a",)), ("/a/b/c", ("/a", "/a/b")), ("/", ()), ("", ())]
)
def test_ancestors_the_highest_first(path: str, above: tuple[str, ...]) -> None:
    assert paths.ancestors(path) == above


@pytest.mark.parametrize("path", ["/", "/a", "/a/b.", "/a/...", "/a/.b", "/brokers/topics/é", "/\U0001f600"])
def test_paths_that_a_node_can_have(path: str) -> None:
    assert paths.can_be(path)


@pytest.mark.parametrize(
    "path",
    ["", "a", "a/b", "//", "/a/", "/a//b", "/.", "/..", "/a/./b", "/a/../b", "/a/..", "/a\0", "/\ud800"],
)
def test_paths_that_no_node_can_have(path: str) -> None:
    assert not paths.can_be(path)


PARTS = st.sampled_from(["", "a", ".", "..", "...", "\0", "\ud800", "\udc00", "é"])


@given(st.lists(st.builds(str.join, st.sampled_from(["/", ""]), st.lists(PARTS, max_size=3)), max_size=4))
def test_many_paths_can_be_if_each_can(whole: list[str]) -> None:
    assert paths.all_can_be(whole) == all(paths.can_be(path) for path in whole)


def test_the_path_of_a_partition_state_is_recognized() -> None:
    tp = TopicPartition("a.b-c", 12)
    assert paths.partition_of_state(paths.partition_state(tp)) == tp
    others = (paths.topic("t"), paths.partition(tp), "/brokers/topics/t/partitions/x/state", "/controller")
    assert [paths.partition_of_state(path) for path in others] == [None] * 4
