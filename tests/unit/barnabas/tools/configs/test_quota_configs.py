from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.tools.clients.refusals import Refusal
from barnabas.tools.configs.config_flags import InvalidArgument
from barnabas.tools.configs.quota_configs import alter_quotas, describe_quotas


class Cluster:
    """A cluster with some quotas, which takes down what is asked."""

    def __init__(self, *entries: tuple[dict[str, str | None], dict[str, float]]) -> None:
        self.asked: list[Any] = []
        self.entries = [
            SimpleNamespace(
                entity=[SimpleNamespace(entity_type=k, entity_name=n) for k, n in entity.items()],
                values=[SimpleNamespace(key=key, value=value) for key, value in values.items()],
            )
            for entity, values in entries
        ]
        self.error = ErrorCode.NONE

    def ask(self, request: Any) -> Any:
        self.asked.append(request)
        told = SimpleNamespace(error_code=int(self.error), error_message="no")
        entries = self.entries if hasattr(request, "components") else [told]
        return SimpleNamespace(error_code=0, error_message=None, entries=entries)


def test_quotas_are_described_in_kafkas_words() -> None:
    cluster: Any = Cluster(
        ({"user": "alice", "client-id": None}, {"producer_byte_rate": 1048576.0, "request_percentage": 5.5}),
        ({"client-id": "app"}, {"consumer_byte_rate": 12345678.0, "producer_byte_rate": 1e7}),
    )
    assert describe_quotas(cluster, [("users", "alice"), ("clients", "")]) == [
        (
            "Quota configs for user-principal 'alice', the default client-id are "
            "producer_byte_rate=1048576.0, request_percentage=5.5"
        ),
        "Quota configs for client-id 'app' are consumer_byte_rate=1.2345678E7, producer_byte_rate=1.0E7",
    ]
    (request,) = cluster.asked
    assert request.strict
    assert request.components == [("user", 0, "alice"), ("client-id", 1, None)]


def test_quotas_are_altered() -> None:
    cluster: Any = Cluster(({"ip": None}, {"connection_creation_rate": 5.0}))
    line = alter_quotas(cluster, [("ips", "")], {}, ["connection_creation_rate"])
    assert line == "Completed updating default config for ips in the cluster."
    assert cluster.asked[1].entries == [([("ip", None)], [("connection_creation_rate", 0.0, True)])]
    line = alter_quotas(cluster, [("users", "alice")], {"producer_byte_rate": "10"}, [])
    assert line == "Completed updating config for user alice."


@pytest.mark.parametrize(
    ("kind", "added", "deleted", "says"),
    [
        (
            "clients",
            {"flush.ms": "5"},
            [],
            (
                "Only quota configs can be added for 'clients' using --bootstrap-server. "
                "Unexpected config names: flush.ms"
            ),
        ),
        ("users", {}, ["producer_byte_rate"], "Invalid config(s): producer_byte_rate"),
        (
            "users",
            {"producer_byte_rate": "much"},
            [],
            "Cannot parse quota configuration value for producer_byte_rate: much",
        ),
    ],
)
def test_what_is_no_quota_is_refused(kind: str, added: dict[str, str], deleted: list[str], says: str) -> None:
    cluster: Any = Cluster()
    with pytest.raises(InvalidArgument) as refused:
        alter_quotas(cluster, [(kind, "x")], added, deleted)
    assert str(refused.value) == says


def test_a_refusal_of_the_cluster_is_raised() -> None:
    cluster: Any = Cluster()
    cluster.error = ErrorCode.INVALID_REQUEST
    with pytest.raises(Refusal, match="no"):
        alter_quotas(cluster, [("users", "x")], {"producer_byte_rate": "5"}, [])
