"""The client of ACLs: what it sends, to whom, and what it makes of the answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

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
from barnabas.tools.acls.acl_client import AclClient
from barnabas.tools.clients.admin_client import Answer
from barnabas.tools.clients.refusals import Refusal

T = ResourcePattern(ResourceType.TOPIC, "t", PatternType.PREFIXED)
READ = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)
WRITE = AccessControlEntry("User:b", "10.0.0.1", AclOperation.WRITE, AclPermission.DENY)
OK = SimpleNamespace(error_code=0, error_message=None)
REFUSED = SimpleNamespace(error_code=int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED), error_message=None)


class Cluster:
    """A cluster that notes each request, and who got it, and gives the answers in turn."""

    def __init__(self, *answers: SimpleNamespace) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def ask(self, request: Any) -> Any:
        return self._answer("any", request)

    def ask_controller(self, request: Any) -> Answer:
        return Answer(self._answer("controller", request))

    def _answer(self, who: str, request: Any) -> Any:
        # As a broker reads it, in the newest version that 2.8 has.
        read = type(request).decode(bytes(request.encode(version=2)), version=2)
        self.asked.append((who, read.to_dict()))
        return self.answers.pop(0)


def clients(*answers: SimpleNamespace) -> tuple[Cluster, AclClient]:
    cluster: Any = Cluster(*answers)
    return cluster, AclClient(cluster)


def described(*entries: AccessControlEntry) -> SimpleNamespace:
    acls = [
        SimpleNamespace(principal=who, host=host, operation=int(operation), permission_type=int(permission))
        for who, host, operation, permission in entries
    ]
    resource = SimpleNamespace(resource_type=2, resource_name="t", pattern_type=4, acls=acls)
    return SimpleNamespace(error_code=0, error_message=None, resources=[resource])


def test_acls_that_several_filters_find_are_listed_once() -> None:
    cluster, client = clients(described(READ), described(READ, WRITE))
    assert client.describe([AclFilter(), AclFilter(*T)]) == {T: {READ, WRITE}}
    assert [(who, tuple(fields.values())) for who, fields in cluster.asked] == [
        ("any", (1, None, 1, None, None, 1, 1)),
        ("any", (2, "t", 4, None, None, 1, 1)),
    ]


def test_after_a_change_the_broker_that_made_it_lists() -> None:
    cluster, client = clients(SimpleNamespace(results=[OK, OK]), described(READ, WRITE))
    client.create(T, [READ, WRITE])
    client.describe([AclFilter()])
    (who, fields), (lister, _) = cluster.asked
    assert (who, lister) == ("controller", "controller")
    assert fields == {
        "creations": [
            {
                "resource_type": 2,
                "resource_name": "t",
                "resource_pattern_type": 4,
                "principal": principal,
                "host": host,
                "operation": operation,
                "permission_type": permission,
            }
            for principal, host, operation, permission in (READ, WRITE)
        ]
    }


def test_each_acl_is_deleted_by_a_filter_of_its_own() -> None:
    none = SimpleNamespace(error_code=0, error_message=None, matching_acls=[])
    one = SimpleNamespace(error_code=0, error_message=None, matching_acls=[OK])
    cluster, client = clients(SimpleNamespace(filter_results=[none, one]))
    client.delete([AclFilter(*T, *READ), AclFilter(*T)])
    ((_, fields),) = cluster.asked
    assert [tuple(each.values()) for each in fields["filters"]] == [
        (2, "t", 4, "User:a", "*", 3, 3),
        (2, "t", 4, None, None, 1, 1),
    ]


def test_refusals_are_errors() -> None:
    failed = SimpleNamespace(error_code=0, error_message=None, matching_acls=[OK, REFUSED])
    refused = SimpleNamespace(error_code=31, error_message=None, matching_acls=[])
    for answer, ask in (
        (REFUSED, lambda client: client.describe([AclFilter()])),
        (SimpleNamespace(results=[OK, REFUSED]), lambda client: client.create(T, [READ, WRITE])),
        (SimpleNamespace(filter_results=[failed]), lambda client: client.delete([AclFilter()])),
        (SimpleNamespace(filter_results=[refused]), lambda client: client.delete([AclFilter()])),
    ):
        _, client = clients(answer)
        with pytest.raises(Refusal) as refusal:
            ask(client)
        assert refusal.value.error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_a_brokers_own_words_are_kept() -> None:
    _, client = clients(
        SimpleNamespace(error_code=54, error_message="No Authorizer is configured", resources=[])
    )
    with pytest.raises(Refusal, match=r"SecurityDisabledException: No Authorizer is configured$"):
        client.describe([AclFilter()])
