"""kafka-acls.sh from its flags to its output; the cluster is asked in tests/integration."""

from __future__ import annotations

import io
from typing import Any, Self

import pytest

from barnabas.cluster.model.acls import (
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
from barnabas.tools.clients.admin_client import AdminError
from barnabas.tools.clients.refusals import Refusal
from barnabas.tools.command_line.parser import ToolError

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
