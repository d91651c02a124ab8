"""The indexed decision against a slow one that looks at every ACL."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.cluster.model.acls import (
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from barnabas.cluster.model.authorization import (
    Acls,
    Action,
    Requester,
    Rules,
    authorize,
    authorize_by_resource_type,
)
from barnabas.cluster.model.authorized_operations import authorized_operations
from barnabas.cluster.model.principal import KafkaPrincipal

ALLOW, DENY = AclPermission.ALLOW, AclPermission.DENY
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
OP = AclOperation

NAMES = st.text("ab*", min_size=1, max_size=3)
PATTERNS = st.builds(
    ResourcePattern, st.sampled_from([TOPIC, GROUP]), NAMES, st.sampled_from([LITERAL, PREFIXED])
)
ENTRIES = st.builds(
    AccessControlEntry,
    st.sampled_from(["User:a", "User:b", "User:*"]),
    st.sampled_from(["10.0.0.1", "10.0.0.2", "*"]),
    st.sampled_from([OP.ALL, OP.READ, OP.WRITE, OP.DESCRIBE, OP.ALTER_CONFIGS, OP.DESCRIBE_CONFIGS]),
    st.sampled_from([ALLOW, DENY]),
)
CHANGES = st.lists(st.tuples(PATTERNS, st.frozensets(ENTRIES, max_size=4)), max_size=8)
REQUESTERS = st.builds(
    Requester,
    st.builds(KafkaPrincipal, st.just("User"), st.sampled_from("ab")),
    st.sampled_from(["10.0.0.1", "10.0.0.2"]),
)
OPERATIONS = st.sampled_from([op for op in OP if op not in (OP.ANY, OP.ALL)])
RULES = st.builds(
    Rules,
    st.sampled_from([frozenset(), frozenset({KafkaPrincipal("User", "b")})]),
    st.booleans(),
)


def built(changes):
    acls, plain = Acls(), {}
    for resource, entries in changes:
        acls[resource] = entries
        plain[resource] = entries
    return acls, [(resource, entry) for resource, entries in plain.items() for entry in entries]


def concerns(resource, type_, name):
    if resource.type is not type_:
        return False
    if resource.pattern is PREFIXED:
        return name.startswith(resource.name)
    return resource.name in ("*", name)


def fits(entry, requester, operations, permission):
    return (
        entry.permission is permission
        and entry.operation in operations
        and entry.principal in (str(requester.principal), "User:*")
        and entry.host in (requester.host, "*")
    )


def slow(bindings, action, requester, rules):
    if requester.principal in rules.super_users:
        return True
    found = [entry for resource, entry in bindings if concerns(resource, action.type, action.name)]
    if not found:
        return rules.allow_if_none
    if any(fits(entry, requester, {action.operation, OP.ALL}, DENY) for entry in found):
        return False
    enough = {action.operation, OP.ALL}
    if action.operation is OP.DESCRIBE:
        enough |= {OP.READ, OP.WRITE, OP.DELETE, OP.ALTER}
    if action.operation is OP.DESCRIBE_CONFIGS:
        enough |= {OP.ALTER_CONFIGS}
    return any(fits(entry, requester, enough, ALLOW) for entry in found)


def slow_by_type(bindings, operation, type_, requester, rules):
    if requester.principal in rules.super_users:
        return True
    of_type = [(resource, entry) for resource, entry in bindings if resource.type is type_]
    operations = {operation, OP.ALL}
    denied = [resource for resource, entry in of_type if fits(entry, requester, operations, DENY)]
    if any(resource.name == "*" and resource.pattern is LITERAL for resource in denied):
        return False
    if rules.allow_if_none:
        return True
    for resource, entry in of_type:
        if not fits(entry, requester, operations, ALLOW):
            continue
        if resource.pattern is LITERAL and resource.name == "*":
            return True
        if any(deny.pattern is PREFIXED and resource.name.startswith(deny.name) for deny in denied):
            continue
        if resource.pattern is LITERAL and resource in denied:
            continue
        return True
    return False


@settings(max_examples=400)
@given(CHANGES, OPERATIONS, NAMES, REQUESTERS, RULES)
def test_a_decision_is_that_of_a_look_at_every_acl(changes, operation, name, requester, rules):
    acls, bindings = built(changes)
    action = Action(operation, TOPIC, name)
    assert authorize(acls, action, requester, rules) == slow(bindings, action, requester, rules)


@settings(max_examples=400)
@given(CHANGES, OPERATIONS, REQUESTERS, RULES)
def test_a_decision_by_type_is_that_of_a_look_at_every_acl(changes, operation, requester, rules):
    acls, bindings = built(changes)
    decided = authorize_by_resource_type(acls, operation, TOPIC, requester, rules)
    assert decided == slow_by_type(bindings, operation, TOPIC, requester, rules)


@given(CHANGES)
def test_the_index_holds_the_last_acls_of_each_resource(changes):
    acls, bindings = built(changes)
    assert sorted((resource, entry) for resource in acls for entry in acls[resource]) == sorted(bindings)
    for resource in list(acls):
        acls[resource] = frozenset()
    assert list(acls) == []
    assert acls.concerning(TOPIC, "a") == []


A, B = Requester(KafkaPrincipal("User", "a"), "10.0.0.1"), Requester(KafkaPrincipal("User", "b"), "10.0.0.1")


def entry(operation, permission=ALLOW, principal="User:a", host="*"):
    return AccessControlEntry(principal, host, operation, permission)


def test_removing_one_of_two_acls_of_a_resource_keeps_the_other():
    acls, topic = Acls(), ResourcePattern(TOPIC, "t")
    acls[topic] = {entry(OP.READ), entry(OP.READ, principal="User:b")}
    acls[topic] = {entry(OP.READ)}
    read = Action(OP.READ, TOPIC, "t")
    assert authorize(acls, read, A, Rules())
    assert not authorize(acls, read, B, Rules())


def test_an_acl_for_somebody_else_ends_that_everybody_is_allowed():
    acls, rules, read = Acls(), Rules(allow_if_none=True), Action(OP.READ, TOPIC, "t")
    assert authorize(acls, read, B, rules)
    acls[ResourcePattern(TOPIC, "t")] = {entry(OP.WRITE)}
    assert not authorize(acls, read, B, rules)


def test_a_denial_overrules_an_allowance_and_denies_no_implied_operation():
    acls = Acls()
    acls[ResourcePattern(TOPIC, "t", PREFIXED)] = {entry(OP.ALL)}
    acls[ResourcePattern(TOPIC, "*")] = {entry(OP.READ, DENY, "User:*")}
    assert not authorize(acls, Action(OP.READ, TOPIC, "topic"), A, Rules())
    assert authorize(acls, Action(OP.DESCRIBE, TOPIC, "topic"), A, Rules())


def test_a_permission_that_is_not_allow_allows_nothing():
    acls, topic = Acls(), ResourcePattern(TOPIC, "t")
    acls[topic] = {entry(OP.READ, AclPermission.ANY)}
    assert not authorize(acls, Action(OP.READ, TOPIC, "t"), A, Rules(allow_if_none=True))
    acls[topic] = {entry(OP.READ, AclPermission.ANY), entry(OP.READ)}
    assert not authorize(acls, Action(OP.READ, TOPIC, "t"), A, Rules(allow_if_none=True))


def test_the_lengths_of_prefixes_are_those_that_have_acls():
    acls = Acls()
    assert acls.lengths(TOPIC) == []
    for name in ("t", "orders", "others"):
        acls[ResourcePattern(TOPIC, name, PREFIXED)] = {entry(OP.READ)}
    acls[ResourcePattern(TOPIC, "literal")] = {entry(OP.READ)}
    assert sorted(acls.lengths(TOPIC)) == [1, 6]
    acls[ResourcePattern(TOPIC, "t", PREFIXED)] = set()
    acls[ResourcePattern(TOPIC, "others", PREFIXED)] = set()
    assert acls.lengths(TOPIC) == [6]


@pytest.mark.parametrize("operation", [OP.CREATE, OP.DESCRIBE_CONFIGS, OP.ALTER_CONFIGS])
def test_describe_is_not_implied_by(operation):
    acls = Acls()
    acls[ResourcePattern(TOPIC, "t")] = {entry(operation)}
    assert not authorize(acls, Action(OP.DESCRIBE, TOPIC, "t"), A, Rules())


def test_whether_a_resource_has_acls_is_looked_up():
    """Each of 100,000 filters was compared with 1,000 resources, which took 2 s."""
    compared = []

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            compared.append(other)
            return super().__eq__(other)

    acls = Acls()
    for number in range(100):
        acls[ResourcePattern(TOPIC, f"t-{number}")] = {entry(OP.READ)}
    assert ResourcePattern(TOPIC, Name("t-50")) in acls
    assert ResourcePattern(TOPIC, Name("t-100")) not in acls
    assert len(compared) < 5


def test_a_decision_looks_at_few_of_many_acls():
    acls = Acls()
    for number in range(5_000):
        acls[ResourcePattern(TOPIC, f"topic-{number}")] = {entry(OP.READ, principal=f"User:{number}")}
        acls[ResourcePattern(TOPIC, f"topic-{number}-", PREFIXED)] = {entry(OP.WRITE)}
    looked = acls.concerning(TOPIC, "topic-77-of-many")
    assert looked == [{("User:a", "*"): (0, 1 << OP.WRITE)}]
    assert authorize(acls, Action(OP.WRITE, TOPIC, "topic-77-of-many"), A, Rules())


@pytest.mark.parametrize(
    ("allowed", "denied", "left"),
    [
        (("t", LITERAL), ("t", LITERAL), False),
        (("t", LITERAL), ("u", LITERAL), True),
        (("topic", LITERAL), ("t", PREFIXED), False),
        (("topic", PREFIXED), ("t", PREFIXED), False),
        (("t", PREFIXED), ("topic", PREFIXED), True),
        (("t", PREFIXED), ("t", LITERAL), True),
        (("*", LITERAL), ("t", PREFIXED), True),
        (("*", LITERAL), ("*", LITERAL), False),
    ],
)
def test_a_grant_counts_by_type_unless_denials_leave_nothing_of_it(allowed, denied, left):
    acls = Acls()
    for (name, pattern), permission in ((allowed, ALLOW), (denied, DENY)):
        resource = ResourcePattern(TOPIC, name, pattern)
        acls[resource] = acls[resource] | {entry(OP.WRITE, permission)}
    assert authorize_by_resource_type(acls, OP.WRITE, TOPIC, A, Rules()) is left


@pytest.mark.parametrize(
    ("kind", "bits"),
    [
        (ResourceType.TOPIC, 3576),
        (ResourceType.GROUP, 328),
        (ResourceType.CLUSTER, 8096),
        (ResourceType.TRANSACTIONAL_ID, 272),
        (ResourceType.DELEGATION_TOKEN, 256),
    ],
)
def test_everybody_may_do_everything(kind, bits):
    assert authorized_operations(kind, is_asked=True) == bits
    assert authorized_operations(kind, is_asked=False) == -2147483648
