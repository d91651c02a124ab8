"""The options of kafka-acls.sh: which ACLs they name, and in which words the rest is refused."""

from __future__ import annotations

import pytest

from barnabas.cluster.model.acls import (
    CLUSTER,
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from barnabas.tools.acls.acl_flags import (
    OPTIONS,
    check,
    entries_to_add,
    entries_to_remove,
    principals,
    resources_of,
)
from barnabas.tools.command_line.options import Given, JavaError, UsageError

T, G = ResourcePattern(ResourceType.TOPIC, "t"), ResourcePattern(ResourceType.GROUP, "g")
X = ResourcePattern(ResourceType.TRANSACTIONAL_ID, "x")
OP = AclOperation


def given(line: str) -> Given:
    parsed = OPTIONS.parse(["--bootstrap-server", "b:9092", *line.split()])
    check(parsed)
    return parsed


def allow(
    *operations: AclOperation,
    who: str = "User:a",
    host: str = "*",
    permission: AclPermission = AclPermission.ALLOW,
) -> tuple[AccessControlEntry, ...]:
    return tuple(AccessControlEntry(who, host, operation, permission) for operation in operations)


@pytest.mark.parametrize(
    ("line", "entries"),
    [
        ("--topic t", {T: allow(OP.ALL)}),
        ("--topic t --group g --topic t", {T: allow(OP.ALL), G: allow(OP.ALL)}),
        ("--cluster --operation Create", {CLUSTER: allow(OP.CREATE)}),
        ("--cluster --operation clusterACTION", {CLUSTER: allow(OP.CLUSTER_ACTION)}),
        (
            "--topic t --operation read --operation DescribeConfigs",
            {T: allow(OP.READ, OP.DESCRIBE_CONFIGS)},
        ),
        (
            "--topic t --allow-principal User:b --allow-host 10.0.0.1 --allow-host 10.0.0.2 --operation Read",
            {
                T: tuple(
                    one
                    for who in ("User:a", "User:b")
                    for host in ("10.0.0.1", "10.0.0.2")
                    for one in allow(OP.READ, who=who, host=host)
                )
            },
        ),
        (
            "--topic t --deny-principal User:c --deny-host 10.0.0.3",
            {T: allow(OP.ALL) + allow(OP.ALL, who="User:c", host="10.0.0.3", permission=AclPermission.DENY)},
        ),
        (
            "--topic t --resource-pattern-type Prefixed",
            {ResourcePattern(ResourceType.TOPIC, "t", PatternType.PREFIXED): allow(OP.ALL)},
        ),
        (
            "--delegation-token k --operation Describe",
            {ResourcePattern(ResourceType.DELEGATION_TOKEN, "k"): allow(OP.DESCRIBE)},
        ),
        (
            "--producer --topic t --transactional-id x --idempotent",
            {
                T: allow(OP.WRITE, OP.DESCRIBE, OP.CREATE),
                X: allow(OP.WRITE, OP.DESCRIBE),
                CLUSTER: allow(OP.IDEMPOTENT_WRITE),
            },
        ),
        (
            "--producer --topic t --idempotent --resource-pattern-type prefixed",
            {
                ResourcePattern(ResourceType.TOPIC, "t", PatternType.PREFIXED): allow(
                    OP.WRITE, OP.DESCRIBE, OP.CREATE
                ),
                CLUSTER: allow(OP.IDEMPOTENT_WRITE),
            },
        ),
        ("--consumer --topic t --group g", {T: allow(OP.READ, OP.DESCRIBE), G: allow(OP.READ)}),
        (
            "--producer --consumer --topic t --group g",
            {T: allow(OP.READ, OP.DESCRIBE, OP.WRITE, OP.CREATE), G: allow(OP.READ)},
        ),
    ],
)
def test_the_acls_that_the_options_name(
    line: str, entries: dict[ResourcePattern, tuple[AccessControlEntry, ...]]
) -> None:
    assert entries_to_add(given(f"--add --allow-principal User:a {line}")) == entries


def test_without_a_principal_all_acls_of_a_resource_or_filter_are_removed() -> None:
    assert entries_to_remove(given("--remove --topic t --group g")) == {T: (), G: ()}
    matched = ResourcePattern(ResourceType.TOPIC, "t", PatternType.MATCH)
    assert entries_to_remove(given("--remove --topic t --resource-pattern-type match")) == {matched: ()}


def test_the_resources_that_are_listed() -> None:
    assert resources_of(given("--list")) == []
    assert resources_of(given("--list --topic t --cluster --group g --transactional-id x")) == [
        T,
        CLUSTER,
        G,
        X,
    ]
    # The cluster has no prefix.
    assert resources_of(given("--list --cluster --resource-pattern-type any")) == []


def test_names_lose_the_blanks_around_them() -> None:
    options = OPTIONS.parse(
        ["--topic", " t ", "--group", " g", "--principal", " User:a ", "--principal", "User:a"]
    )
    assert resources_of(options) == [T, G]
    assert principals(options, "principal") == ["User:a"]


def test_principal_without_a_value_is_no_principal() -> None:
    assert principals(given("--list --principal"), "principal") == []


SUPPORTED_BY_GROUPS = "ResourceType GROUP only supports operations All, Read, Delete, Describe"
NO_PRINCIPAL = "You must specify one of: --allow-principal, --deny-principal when trying to add ACLs."
NO_RESOURCE = (
    "You must provide at least one resource: --topic <topic> or --cluster or --group <group> or "
    "--delegation-token <Delegation Token ID>"
)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--topic t", NO_PRINCIPAL),
        ("--topic t --allow-host h", NO_PRINCIPAL),
        ("--allow-principal User:a", NO_RESOURCE),
        ("--group g --allow-principal User:a --operation Write", SUPPORTED_BY_GROUPS),
        ("--group g --allow-principal User:a --operation Raed", SUPPORTED_BY_GROUPS),
        ("--group g --allow-principal User:a --operation CLUSTER_ACTION", SUPPORTED_BY_GROUPS),
        *(
            (
                f"--topic t --allow-principal User:a --resource-pattern-type {name}",
                f"A '--resource-pattern-type' value of '{name.upper()}' is not valid when adding acls.",
            )
            for name in ("any", "match")
        ),
    ],
)
def test_acls_that_cannot_be_added(line: str, message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        entries_to_add(given(f"--add {line}"))
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        (
            "--topic t --allow-principal alice",
            "java.lang.IllegalArgumentException",
            "expected a string in format principalType:principalName but got alice",
        ),
        (
            "--topic t --resource-pattern-type regex",
            "joptsimple.OptionArgumentConversionException",
            "Cannot parse argument 'regex' of option resource-pattern-type",
        ),
    ],
)
def test_values_that_are_malformed(line: str, kind: str, message: str) -> None:
    with pytest.raises(JavaError) as refusal:
        entries_to_add(given(f"--add {line}"))
    assert (refusal.value.java_class, str(refusal.value)) == (kind, message)


WITH_CONSUMER = (
    "With --consumer you must specify a --topic and a --group and no --cluster or --transactional-id option "
    "should be specified."
)
ONE_ACTION = "Command must include exactly one action: --list, --add, --remove. "


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--topic t", ONE_ACTION),
        ("--add --list", ONE_ACTION),
        ("--list --producer", 'Option "[list]" can\'t be used with option "[producer]"'),
        ("--list --deny-host h", 'Option "[list]" can\'t be used with option "[deny-host]"'),
        ("--add --producer --operation All", 'Option "[producer]" can\'t be used with option "[operation]"'),
        (
            "--add --consumer --deny-principal User:a",
            'Option "[consumer]" can\'t be used with option "[deny-principal]"',
        ),
        ("--add --principal User:a", "The --principal option is only available if --list is set"),
        ("--add --producer --group g", "With --producer you must specify a --topic"),
        ("--add --topic t --idempotent", "The --idempotent option is only available if --producer is set"),
        ("--add --consumer --topic t", WITH_CONSUMER),
        ("--add --consumer --group g", WITH_CONSUMER),
        ("--add --consumer --topic t --group g --cluster", WITH_CONSUMER),
        ("--add --consumer --topic t --group g --transactional-id x", WITH_CONSUMER),
        (
            "--list --authorizer kafka.security.authorizer.AclAuthorizer",
            "Only one of --bootstrap-server or --authorizer must be specified",
        ),
        (
            "--list --authorizer-properties zookeeper.connect=z",
            "The --authorizer-properties option can only be used with --authorizer option",
        ),
    ],
)
def test_options_that_do_not_fit_together(line: str, message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        given(line)
    assert str(refusal.value) == message


def test_a_server_is_needed() -> None:
    with pytest.raises(UsageError, match=r'Missing required argument "\[authorizer-properties\]"'):
        check(OPTIONS.parse(["--list"]))
    to_zookeeper = ["--list", "--authorizer-properties", "zookeeper.connect=z"]
    check(OPTIONS.parse(to_zookeeper))
    with pytest.raises(UsageError, match="can only be used with --bootstrap-server option"):
        check(OPTIONS.parse([*to_zookeeper, "--command-config", "f"]))
