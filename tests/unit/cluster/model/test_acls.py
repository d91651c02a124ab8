from __future__ import annotations

import pytest

from barnabas.cluster.model.acls import (
    AccessControlEntry,
    AclBinding,
    AclFilter,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)

LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
READ_A = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)


def test_names_are_written_in_pascal_case_and_read_in_capitals_too():
    assert AclOperation.CLUSTER_ACTION.title == "ClusterAction"
    assert ResourceType.TRANSACTIONAL_ID.title == "TransactionalId"
    for text in ("ClusterAction", "CLUSTER_ACTION"):
        assert AclOperation.named(text) is AclOperation.CLUSTER_ACTION
    with pytest.raises(ValueError, match=r"'clusteraction' is none of Any, All, Read,"):
        AclOperation.named("clusteraction")


def test_a_pattern_is_written_as_in_kafka():
    text = "ResourcePattern(resourceType=TOPIC, name=t, patternType=LITERAL)"
    assert str(ResourcePattern(TOPIC, "t")) == text


@pytest.mark.parametrize(
    ("found", "resource"),
    [
        (True, ResourcePattern(TOPIC, "foo-bar")),
        (True, ResourcePattern(TOPIC, "*")),
        (True, ResourcePattern(TOPIC, "foo", PREFIXED)),
        (True, ResourcePattern(TOPIC, "foo-bar", PREFIXED)),
        (False, ResourcePattern(TOPIC, "foo")),
        (False, ResourcePattern(TOPIC, "foo-bar-baz", PREFIXED)),
        (False, ResourcePattern(TOPIC, "*", PREFIXED)),
        (False, ResourcePattern(GROUP, "foo-bar")),
    ],
)
def test_match_finds_every_pattern_that_concerns_a_name(found, resource):
    assert AclFilter(TOPIC, "foo-bar", PatternType.MATCH).matches(AclBinding(resource, READ_A)) is found


@pytest.mark.parametrize(
    ("found", "asked"),
    [
        (True, AclFilter()),
        (True, AclFilter(TOPIC, "t", LITERAL)),
        (True, AclFilter(TOPIC, "t", PatternType.ANY)),
        (True, AclFilter(TOPIC, None, PatternType.MATCH)),
        (True, AclFilter(principal="User:a", host="*", operation=AclOperation.READ)),
        (False, AclFilter(TOPIC, "tt", PatternType.ANY)),
        (False, AclFilter(TOPIC, "t", PREFIXED)),
        (False, AclFilter(GROUP)),
        (False, AclFilter(principal="User:*")),
        (False, AclFilter(host="10.0.0.1")),
        (False, AclFilter(operation=AclOperation.ALL)),
        (False, AclFilter(permission=AclPermission.DENY)),
    ],
)
def test_a_filter_matches_only_what_it_names(found, asked):
    assert asked.matches(AclBinding(ResourcePattern(TOPIC, "t"), READ_A)) is found
