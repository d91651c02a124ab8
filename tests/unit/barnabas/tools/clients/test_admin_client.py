from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import errors

from barnabas.cluster.model.errors import ErrorCode
from barnabas.tools.clients import admin_client
from barnabas.tools.clients.admin_client import (
    AdminClient,
    AdminError,
    Answer,
    NotSupported,
    PartitionMetadata,
    TopicMetadata,
    Unreachable,
)

CREATE = SimpleNamespace(name="CreateTopics")


def answer(code: int = ErrorCode.NONE) -> Any:
    topic = {"name": "t", "error_code": int(code)}
    return SimpleNamespace(to_dict=lambda: {"throttle_time_ms": 0, "names": ["t"], "topics": [topic]})


class Client:
    """kafka-python's client as far as it is used, on a cluster of brokers 1 and 2."""

    controllers: list[int]
    answers: list[Any]
    asked: list[Any]
    looked_again: int
    silent: frozenset[int]

    def __init__(self, **settings: Any) -> None:
        Client.controllers, Client.answers, Client.asked = [1], [], []
        Client.looked_again, Client.silent = 0, frozenset()
        self.config = settings

    def ask(self, request: Any, broker_id: int | None, timeout_ms: int) -> Any:
        if broker_id in Client.silent:
            raise errors.KafkaConnectionError(f"{broker_id} is away")
        if request is not CREATE:
            return self.metadata(broker_id)
        Client.asked.append((broker_id, timeout_ms))
        told = Client.answers.pop(0)
        if isinstance(told, Exception):
            raise told
        return told

    def metadata(self, broker_id: int | None) -> Any:
        known = Client.controllers
        controller = known[0] if broker_id is not None or len(known) == 1 else known.pop(0)
        partition = SimpleNamespace(partition_index=0, leader_id=1, replica_nodes=[1, 2], isr_nodes=[1])
        return SimpleNamespace(
            controller_id=controller,
            brokers=[SimpleNamespace(node_id=n, rack=None) for n in (2, 1)],
            topics=[SimpleNamespace(name=name, partitions=[partition]) for name in ("u", "t")],
        )

    def refresh_metadata(self) -> None:
        Client.looked_again += 1

    def close(self) -> None:
        Client.asked.append("closed")


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> AdminClient:
    monkeypatch.setattr(admin_client, "_Client", Client)
    monkeypatch.setattr(admin_client, "RETRY_S", 0)
    return AdminClient("b:9092")


def test_the_client_waits_longer_than_the_controller_may_take(admin: AdminClient) -> None:
    Client.answers = [answer()]
    assert not admin.ask_controller(CREATE).tried_before
    assert Client.asked == [(1, admin_client.ANSWER_MS)]
    assert admin_client.SERVER_MS < admin_client.ANSWER_MS < admin_client.DEADLINE_MS


def test_a_dead_or_missing_controller_is_looked_up_again_before_a_request_is_sent(
    admin: AdminClient,
) -> None:
    Client.silent = frozenset({1})
    Client.controllers = [1, 1, -1, 2]
    Client.answers = [answer()]
    assert not admin.ask_controller(CREATE).tried_before
    assert [broker for broker, _ in Client.asked] == [2]
    assert Client.looked_again == 2


def test_one_that_is_the_controller_no_more_did_nothing(admin: AdminClient) -> None:
    Client.controllers = [1, 2]
    Client.answers = [answer(ErrorCode.NOT_CONTROLLER), answer()]
    assert not admin.ask_controller(CREATE).tried_before
    assert [broker for broker, _ in Client.asked] == [1, 2]


def test_the_message_mentions_an_earlier_try_without_an_answer(admin: AdminClient) -> None:
    Client.answers = [errors.KafkaConnectionError("gone"), answer(ErrorCode.TOPIC_ALREADY_EXISTS)]
    told = admin.ask_controller(CREATE)
    assert told.tried_before
    result = SimpleNamespace(error_code=36, error_message="Topic 't' already exists.")
    assert told.message_of(result) == (
        "Topic 't' already exists. (An earlier try of this request was not answered and may have been "
        "carried out.)"
    )
    assert Answer(None).message_of(result) == "Topic 't' already exists."
    bare = SimpleNamespace(error_code=36, error_message=None)
    assert Answer(None).message_of(bare) == ErrorCode.TOPIC_ALREADY_EXISTS.meaning


def test_the_clusters_own_timeout_is_an_answer(admin: AdminClient) -> None:
    Client.answers = [answer(ErrorCode.REQUEST_TIMED_OUT)]
    assert not admin.ask_controller(CREATE).tried_before


def test_there_is_an_end_to_it(admin: AdminClient) -> None:
    Client.controllers = [-1]
    with pytest.raises(AdminError, match=r"No answer within 0\.01 s: .*There is no controller"):
        admin.ask_controller(CREATE, deadline_ms=10)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (errors.ClusterAuthorizationFailedError("no"), AdminError),
        (errors.IncompatibleBrokerVersion("old"), NotSupported),
    ],
)
def test_an_error_that_lasts_is_not_tried_again(
    admin: AdminClient, error: Exception, kind: type[Exception]
) -> None:
    Client.answers = [error]
    with pytest.raises(kind):
        admin.ask(CREATE)
    assert len(Client.asked) == 1


def test_a_request_goes_to_any_broker_until_one_answers(admin: AdminClient) -> None:
    told = answer()
    Client.answers = [errors.KafkaConnectionError("gone"), errors.UnknownBrokerIdError("who"), told]
    assert admin.ask(CREATE) is told


def test_a_request_to_a_given_broker_is_sent_once(admin: AdminClient) -> None:
    told = answer()
    Client.answers = [told, errors.KafkaConnectionError("gone")]
    assert admin.ask_broker(CREATE, 2) is told
    with pytest.raises(AdminError, match="gone"):
        admin.ask_broker(CREATE, 2)
    with pytest.raises(AdminError, match="Broker 9 is not alive, or not known; expected one of 1, 2"):
        admin.ask_broker(CREATE, 9)


def test_what_there_is(admin: AdminClient) -> None:
    with admin:
        assert admin.racks() == {1: None, 2: None}
        topics = admin.topics()
    assert list(topics) == ["t", "u"]
    assert topics["t"] == TopicMetadata("t", {0: PartitionMetadata(0, 1, (1, 2), (1,))})
    assert Client.asked == ["closed"]


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> None:
        raise errors.KafkaConnectionError

    monkeypatch.setattr(admin_client, "_Client", fail)
    monkeypatch.setattr(admin_client, "demand", lambda *_: None)
    monkeypatch.setattr(admin_client, "why_silent", lambda servers, _: f"{', '.join(servers)} hang")
    with pytest.raises(Unreachable) as failure:
        AdminClient("b:1,c:2")
    assert str(failure.value) == (
        "No broker answered at --bootstrap-server b:1,c:2 within 20 s: b:1, c:2 hang"
    )


def test_who_has_not_what_all_listeners_demand_is_told_so_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> None:
        raise errors.KafkaConnectionError

    monkeypatch.setattr(admin_client, "_Client", fail)
    monkeypatch.setattr(admin_client, "demand", lambda _, protocol: protocol == "PLAINTEXT")
    monkeypatch.setattr(admin_client, "why_silent", lambda servers, protocol: f"{protocol} is not enough")
    with pytest.raises(Unreachable, match=r"b:1 within 5 s: PLAINTEXT is not enough"):
        AdminClient("b:1")
    with pytest.raises(Unreachable, match=r"b:1 within 20 s: SASL_SSL is not enough"):
        AdminClient("b:1", {"security_protocol": "SASL_SSL"})


def test_an_invalid_address_is_refused_before_a_request_is_sent() -> None:
    with pytest.raises(
        AdminError, match="--bootstrap-server: 'localhost:9xx' is no address, expected host:port"
    ):
        AdminClient("localhost:9xx")


def test_a_server_that_hangs_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def connect(**settings: Any) -> Client:
        tried.append((settings["bootstrap_servers"], settings["bootstrap_timeout_ms"]))
        if tried[-1][0] != ["c:2"]:
            raise errors.KafkaTimeoutError
        return Client(**settings)

    monkeypatch.setattr(admin_client, "_Client", connect)
    monkeypatch.setattr(admin_client, "demand", lambda *_: None)
    AdminClient("b:1,c:2,d:3", {"client_id": "me"})
    assert tried == [(["b:1", "c:2", "d:3"], 5000), (["b:1"], 5000), (["c:2"], 5000)]


@pytest.mark.parametrize(
    "error", [struct.error("'i' format"), UnicodeEncodeError("utf-8", "\udcff", 0, 1, "no")]
)
def test_a_request_that_cannot_be_written_is_an_answer(admin: AdminClient, error: Exception) -> None:
    Client.answers = [error]
    with pytest.raises(AdminError, match=r"The request cannot be written: .*; expected whole numbers of 32"):
        admin.ask(CREATE)
