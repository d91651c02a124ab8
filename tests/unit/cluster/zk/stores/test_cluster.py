from __future__ import annotations

from typing import Any

import pytest

from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.client.errors import NoNode
from barnabas.cluster.zk.client.operations import Set
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.settings import ProducerIdBlock
from barnabas.cluster.zk.stores.cluster import ClusterStore


async def test_parents_are_created_where_they_are_missing(zk: Any) -> None:
    await zk.create("/brokers")
    await ClusterStore(zk).create_persistent_paths()
    await ClusterStore(zk).create_persistent_paths()
    assert set(paths.PERSISTENT) <= set(zk.tree.nodes)


async def test_the_first_proposal_is_the_cluster_id(zk: Any, rival: Any) -> None:
    assert await ClusterStore(zk).cluster_id("first") == "first"
    assert await ClusterStore(rival).cluster_id("second") == "first"


DISABLED = b'{"version":1,"status":0,"features":{}}'


async def test_features_are_disabled_once(zk: Any, rival: Any) -> None:
    assert await ClusterStore(zk).disable_features() is None
    node = zk.tree.nodes[paths.FEATURE]
    assert node.data == DISABLED
    assert await ClusterStore(rival).disable_features() is None
    assert zk.tree.nodes[paths.FEATURE].stat.version == 0


async def test_features_of_a_later_release_are_disabled(zk: Any) -> None:
    enabled = b'{"version":1,"status":1,"features":{"f":{"min_version_level":1,"max_version_level":3}}}'
    await zk.create(paths.FEATURE, enabled)
    assert await ClusterStore(zk).disable_features() == enabled
    assert zk.tree.nodes[paths.FEATURE].data == DISABLED


async def test_a_concurrent_writer_of_the_features_wins(zk: Any, rival: Any) -> None:
    await zk.create(paths.FEATURE, b"spoiled")
    zk.before_write = lambda: zk.tree.carry_out([Set(paths.FEATURE, DISABLED, 0)], rival.id)
    assert await ClusterStore(zk).disable_features() == b"spoiled"
    assert zk.tree.nodes[paths.FEATURE].stat.version == 1


async def test_blocks_follow_one_another(zk: Any, rival: Any) -> None:
    await ClusterStore(zk).create_persistent_paths()
    one, two = BrokerId(1), BrokerId(2)
    assert await ClusterStore(zk).take_producer_id_block(one) == ProducerIdBlock(one, 0, 999)
    node = zk.tree.nodes[paths.PRODUCER_ID_BLOCK]
    later = b'{"version":1,"broker":2,"block_start":"1000","block_end":"1999"}'
    zk.before_write = lambda: zk.tree.carry_out(
        [Set(paths.PRODUCER_ID_BLOCK, later, node.stat.version)], rival.id
    )
    assert await ClusterStore(zk).take_producer_id_block(one) == ProducerIdBlock(one, 2000, 2999)
    assert await ClusterStore(rival).take_producer_id_block(two) == ProducerIdBlock(two, 3000, 3999)


async def test_a_block_is_taken_once_though_the_answer_was_lost(zk: Any) -> None:
    await ClusterStore(zk).create_persistent_paths()
    zk.lost_answers = 1
    assert await ClusterStore(zk).take_producer_id_block(BrokerId(1)) == ProducerIdBlock(BrokerId(1), 0, 999)
    assert (await ClusterStore(zk).take_producer_id_block(BrokerId(1))).start == 1000


async def test_without_its_parent_there_is_no_block(zk: Any) -> None:
    with pytest.raises(NoNode):
        await ClusterStore(zk).take_producer_id_block(BrokerId(1))


async def test_parents_that_somebody_deleted_are_named_and_made_again(zk: Any) -> None:
    store = ClusterStore(zk)
    await store.create_persistent_paths()
    assert await store.missing_paths() == []
    await zk.delete("/config/topics")
    assert await store.missing_paths() == ["/config/topics"]
    await store.create_persistent_paths()
    assert await store.missing_paths() == []
