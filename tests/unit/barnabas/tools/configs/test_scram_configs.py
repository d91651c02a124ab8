"""The SCRAM credentials of ``kafka-configs.sh``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.scram import ScramMechanism
from barnabas.tools.clients.admin_client import Answer
from barnabas.tools.clients.refusals import Refusal
from barnabas.tools.configs.config_flags import InvalidArgument
from barnabas.tools.configs.scram_configs import alter_credentials, are_scram, describe_credentials

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"


class Cluster:
    """A cluster that notes the request and answers as it is told."""

    def __init__(self, *results: SimpleNamespace, error: ErrorCode = ErrorCode.NONE) -> None:
        self.answer = SimpleNamespace(error_code=int(error), error_message="no", results=results)
        self.asked: Any = None

    def ask(self, request: Any) -> Any:
        self.asked = request
        return self.answer

    def ask_controller(self, request: Any) -> Answer:
        self.asked = request
        return Answer(self.answer)


def result(
    error: ErrorCode = ErrorCode.NONE, *infos: tuple[int, int], user: str = "alice"
) -> SimpleNamespace:
    found = [SimpleNamespace(mechanism=mechanism, iterations=n) for mechanism, n in infos]
    return SimpleNamespace(user=user, error_code=int(error), error_message="no", credential_infos=found)


def test_credentials_are_described_in_kafkas_words() -> None:
    cluster: Any = Cluster(
        result(ErrorCode.NONE, (1, 4096), (2, 8192)),
        result(ErrorCode.RESOURCE_NOT_FOUND, user="bob"),
        result(ErrorCode.DUPLICATE_RESOURCE, user="eve"),
    )
    assert describe_credentials(cluster, "alice") == [
        (
            "SCRAM credential configs for user-principal 'alice' are "
            "SCRAM-SHA-256=iterations=4096, SCRAM-SHA-512=iterations=8192"
        ),
        "Error retrieving SCRAM credential configs for user-principal 'eve': no",
    ]
    assert cluster.asked.users == [("alice",)]
    describe_credentials(cluster, None)
    assert cluster.asked.users is None


def test_a_refused_description_is_an_error() -> None:
    cluster: Any = Cluster(error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    with pytest.raises(Refusal, match="no"):
        describe_credentials(cluster, None)


@pytest.mark.parametrize(
    ("text", "iterations"),
    [
        ("iterations=8192,password=a,b=c", 8192),
        ("iterations=-1,password=a,b=c", 4096),
        ("password=a,b=c", 4096),
    ],
)
def test_the_password_is_salted_here(text: str, iterations: int) -> None:
    cluster: Any = Cluster(result())
    line = alter_credentials(cluster, "alice", {SHA_256: text}, [SHA_512])
    assert line == "Completed updating config for user alice."
    ((user, mechanism, told, salt, salted),) = cluster.asked.upsertions
    assert (user, mechanism, told) == ("alice", 1, iterations)
    assert salted == ScramMechanism.SCRAM_SHA_256.salted_password("a,b=c", salt, iterations)
    assert cluster.asked.deletions == [("alice", 2)]


@pytest.mark.parametrize(
    "text", ["", "secret", "iterations=x,password=secret", "iterations=-,password=secret"]
)
def test_a_malformed_credential_is_not_repeated(text: str) -> None:
    cluster: Any = Cluster()
    with pytest.raises(InvalidArgument, match="Invalid credential property SCRAM-SHA-256") as error:
        alter_credentials(cluster, "alice", {SHA_256: text}, [])
    assert "secret" not in str(error.value)


def test_few_iterations_and_a_default_user_are_refused() -> None:
    cluster: Any = Cluster()
    with pytest.raises(InvalidArgument, match="Iterations 4095 is less than the minimum 4096"):
        alter_credentials(cluster, "alice", {SHA_256: "iterations=4095,password=x"}, [])
    with pytest.raises(InvalidArgument, match="not allowed with User SCRAM Credentials"):
        alter_credentials(cluster, "", {}, [SHA_256])


def test_a_refusal_of_the_controller_is_an_error() -> None:
    cluster: Any = Cluster(result(ErrorCode.RESOURCE_NOT_FOUND))
    with pytest.raises(Refusal) as refused:
        alter_credentials(cluster, "alice", {}, [SHA_256])
    assert refused.value.error is ErrorCode.RESOURCE_NOT_FOUND


def test_quotas_and_credentials_are_altered_separately() -> None:
    assert are_scram([SHA_256])
    assert not are_scram(["producer_byte_rate"])
    with pytest.raises(InvalidArgument, match="Cannot alter both"):
        are_scram([SHA_256, "producer_byte_rate"])
