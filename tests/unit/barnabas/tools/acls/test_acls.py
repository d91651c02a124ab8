"""kafka-acls.sh from its flags to its output; the cluster is asked in tests/integration."""

from __future__ import annotations

import io
from argparse import Namespace
from typing import Any, Self

import pytest

from barnabas.cluster.model.acls import (
    CLUSTER,
    AccessControlEntry,
    AclFilter,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.tools.acls import acls
from barnabas.tools.acls.acls import (
    OPTIONS,
    check,
    entries_to_add,
    entries_to_remove,
    principals,
    resources_of,
)
from barnabas.tools.clients.admin_client import AdminError
from barnabas.tools.clients.refusals import Refusal
from barnabas.tools.command_line.parser import ToolError, UsageError

T, G = ResourcePattern(ResourceType.TOPIC, "t"), ResourcePattern(ResourceType.GROUP, "g")
X = ResourcePattern(ResourceType.TRANSACTIONAL_ID, "x")
OP = AclOperation


def given(line: str) -> Namespace:
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
        ["--list", "--topic", " t ", "--group", " g", "--principal", " User:a ", "--principal", "User:a"]
    )
    assert resources_of(options) == [T, G]
    assert principals(options, "principal") == ["User:a"]


def test_principal_without_a_value_is_no_principal() -> None:
    assert principals(given("--list --principal"), "principal") == []


@pytest.mark.parametrize(
    "line",
    [
        "--topic t",
        "--topic t --allow-host h",
        "--topic t --allow-principal alice",
        "--topic t --allow-principal User:a --resource-pattern-type any",
        "--topic t --allow-principal User:a --resource-pattern-type match",
        "--topic t --allow-principal User:a --resource-pattern-type regex",
        "--allow-principal User:a",
        "--group g --allow-principal User:a --operation Write",
        "--group g --allow-principal User:a --operation Raed",
        "--group g --allow-principal User:a --operation CLUSTER_ACTION",
    ],
)
def test_acls_that_cannot_be_added(line: str) -> None:
    with pytest.raises((UsageError, SystemExit)):
        entries_to_add(given(f"--add {line}"))


@pytest.mark.parametrize(
    "line",
    [
        "--topic t",
        "--add --list",
        "--list --producer",
        "--list --deny-host h",
        "--add --producer --operation All",
        "--add --consumer --deny-principal User:a",
        "--add --principal User:a",
        "--add --producer --group g",
        "--add --topic t --idempotent",
        "--add --consumer --topic t",
        "--add --consumer --group g",
        "--add --consumer --topic t --group g --cluster",
        "--add --consumer --topic t --group g --transactional-id x",
        "--list --authorizer kafka.security.authorizer.AclAuthorizer",
        "--list --authorizer-properties zookeeper.connect=z",
    ],
)
def test_options_that_do_not_fit_together(line: str) -> None:
    with pytest.raises((UsageError, SystemExit)):
        given(line)


def test_a_server_is_needed() -> None:
    with pytest.raises(UsageError, match="--bootstrap-server, --authorizer-properties"):
        check(OPTIONS.parse(["--list"]))
    to_zookeeper = ["--list", "--authorizer-properties", "zookeeper.connect=z"]
    check(OPTIONS.parse(to_zookeeper))
    with pytest.raises(UsageError, match="--command-config"):
        check(OPTIONS.parse([*to_zookeeper, "--command-config", "f"]))


T_TEXT = "ResourcePattern(resourceType=TOPIC, name=t, patternType=LITERAL)"
READ_TEXT = "(principal=User:a, host=*, operation=READ, permissionType=ALLOW)"
ERRORS = "org.apache.kafka.common.errors"
READ = ("--topic", "t", "--allow-principal", "User:a", "--operation", "Read")


class Cluster:
    """A cluster without ACLs that notes what is to be deleted."""

    def __init__(self) -> None:
        self.acls: dict[ResourcePattern, frozenset[AccessControlEntry]] = {}
        self.deleted: list[list[AclFilter]] = []
        self.error: Exception | None = None

    def __call__(self, *_: object) -> Cluster:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def describe(self, filters: Any) -> Any:
        if self.error is not None:
            raise self.error
        return {
            resource: entries
            for resource, entries in self.acls.items()
            if any(each.matches_resource(resource) for each in filters)
        }

    def create(self, resource: ResourcePattern, entries: Any) -> None:
        self.acls[resource] = self.acls.get(resource, frozenset()) | frozenset(entries)

    def delete(self, filters: Any) -> None:
        self.deleted.append(filters)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()
    monkeypatch.setattr(acls, "AdminClient", made)
    monkeypatch.setattr(acls, "AclClient", made)
    return made


def run(*words: str) -> int:
    return acls.main(["--bootstrap-server", "b:9092", *words])


def test_add_announces_adds_and_lists_the_resources(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--add", "--allow-principal", "User:a", "--group", "g") == 0
    capsys.readouterr()
    assert run("--add", *READ) == 0
    block = f"resource `{T_TEXT}`: \n \t{READ_TEXT} \n\n"
    assert capsys.readouterr() == (f"Adding ACLs for {block}Current ACLs for {block}", "")
    assert run("--list") == 0
    assert capsys.readouterr().out.count("Current ACLs") == 2
    assert run("--list", "--principal", "User:b") == 0
    assert capsys.readouterr() == ("ACLs for principal `User:b`\n", "")


@pytest.mark.parametrize(
    ("answer", "deletes"), [("y\n", True), ("Y\r\n", True), ("n\n", False), ("yes\n", False), ("", False)]
)
def test_remove_asks_before(
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: str,
    deletes: bool,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    assert run("--remove", "--topic", "t") == 0
    assert capsys.readouterr().out == (
        f"Are you sure you want to delete all ACLs for resource filter `{T_TEXT}`? (y/n)\n"
    )
    whole = AclFilter(ResourceType.TOPIC, "t", PatternType.LITERAL)
    assert cluster.deleted == ([[whole]] if deletes else [])


def test_remove_with_force_deletes_only_the_acls_that_are_named(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--remove", "--force", *READ) == 0
    only = AclFilter(
        ResourceType.TOPIC, "t", PatternType.LITERAL, "User:a", "*", AclOperation.READ, AclPermission.ALLOW
    )
    assert cluster.deleted == [[only]]
    assert capsys.readouterr().out == ""


def test_options_that_do_not_fit_together_end_the_tool(cluster: Cluster) -> None:
    assert run("--add", "--topic", "t") == 1
    assert run("--list", "--authorizer", "x") == 1
    assert run("--list", "--principal", "alice") == 1


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolError("no"), "no"),
        (AdminError("no"), "no"),
        (Refusal(ErrorCode.SECURITY_DISABLED, "no"), f"{ERRORS}.SecurityDisabledException: no"),
    ],
)
def test_errors_are_printed_on_standard_output(
    cluster: Cluster, capsys: pytest.CaptureFixture[str], error: Exception, text: str
) -> None:
    cluster.error = error
    assert run("--list") == 1
    assert capsys.readouterr() == (f"Error while executing ACL command: {text}\n", "")
