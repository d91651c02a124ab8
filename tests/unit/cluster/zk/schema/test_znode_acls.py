"""The ACLs of znodes, as a table."""

from __future__ import annotations

import pytest

from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.acls import ACL_PATHS
from barnabas.cluster.zk.schema.znode_acls import (
    ALL,
    CONSUMERS,
    FURTHER_ROOTS,
    OPEN,
    PRIVATE,
    READ,
    READABLE,
    SECURE_ROOTS,
    ZnodeAcl,
    default_acl,
)


def test_the_three_acls_are_zookeepers_own():
    assert ALL == 31
    assert (ZnodeAcl(31, "world", "anyone"),) == OPEN
    assert (ZnodeAcl(31, "auth", ""),) == PRIVATE
    assert (*PRIVATE, ZnodeAcl(READ, "world", "anyone")) == READABLE


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", READABLE),
        ("/kafka", READABLE),
        ("/brokers/ids/1", READABLE),
        ("/brokers/topics/orders/partitions/0/state", READABLE),
        ("/controller", READABLE),
        ("/controller_epoch", READABLE),
        ("/barnabas/controller", READABLE),
        ("/feature", READABLE),
        ("/config", READABLE),
        ("/config/topics/orders", READABLE),
        ("/config/changes/config_change_", READABLE),
        ("/config/users", PRIVATE),
        ("/config/users/alice/clients/c", PRIVATE),
        ("/config/users2", PRIVATE),  # Kafka compares the text alone
        ("/config/brokers", PRIVATE),
        ("/config/brokers/<default>", PRIVATE),
        ("/delegation_token", READABLE),
        ("/delegation_token/tokens/t", PRIVATE),
        ("/kafka-acl/Topic/orders", READABLE),
        ("/kafka-acl-extended/prefixed/Topic/o", READABLE),
        ("/consumers", OPEN),
        ("/consumers/group", READABLE),
    ],
)
def test_the_path_decides(path, expected):
    assert default_acl(path, secure=True) == expected
    assert default_acl(path, secure=False) == OPEN


def test_every_node_of_a_broker_is_below_a_root_that_the_migration_secures():
    roots = (*SECURE_ROOTS, *FURTHER_ROOTS)
    named = {value for name, value in vars(paths).items() if name.isupper() and str(value).startswith("/")}
    for path in {*named, *paths.PERSISTENT, *ACL_PATHS} - {CONSUMERS}:
        assert path.startswith(tuple(f"{root}/" for root in roots)) or path in roots, path
