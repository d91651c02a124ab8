"""Who may call: decided by the certificate, before a message is read."""

from __future__ import annotations

import grpc
import pytest

from barnabas.broker.server.peers.peer_access import Certificates, PeerAccess, PeerIdentity
from barnabas.cluster.model.principal import KafkaPrincipal
from barnabas.cluster.zk.client.errors import ZooKeeperTimeout

BROKER, CLIENT, NAMELESS = b"User:broker", b"User:client", b"nameless"


class AbortedError(Exception):
    """The end of a call by its server."""


class Context:
    """The context of a call, with a certificate that is only its user's name."""

    def __init__(self, certificate, peer="ipv4:10.0.0.1:5000"):
        self._certificate, self._peer = certificate, peer

    def auth_context(self):
        return {"x509_pem_cert": [self._certificate]}

    def peer(self):
        return self._peer

    async def abort(self, code, details):
        raise AbortedError(code, details)


class Authorizer:
    """Allows the requesters that it has, and notes what it was asked."""

    def __init__(self):
        self.allowed = {"User:broker"}
        self.asked = []

    def is_authorized(self, requester, action, request):
        self.asked.append((str(requester.principal), requester.host, action.operation.title, request))
        return str(requester.principal) in self.allowed


class Claims:
    """Refuses one request, and cannot check another."""

    is_stranger = False

    async def stranger(self, _hosts):
        return "nobody there" if self.is_stranger else None

    async def refusal(self, method, request, hosts):
        assert hosts == ("b1",)
        if request == "unclear":
            raise ZooKeeperTimeout("away")
        return f"{method} is not from it" if request == "false" else None


def identify(certificate):
    if certificate == NAMELESS:
        raise ValueError("no rule fits")
    kind, _, name = certificate.decode().partition(":")
    return PeerIdentity(KafkaPrincipal(kind, name), ("b1",))


CERTIFICATES = Certificates(None, identify, Claims())


class Calls:
    """The methods of a service behind the check, and the requests that reached them."""

    def __init__(self, authorizer, certificates=CERTIFICATES):
        self.reached, self.read = [], []
        access = PeerAccess(certificates, authorizer)
        methods = {
            "One": grpc.unary_unary_rpc_method_handler(self._one),
            "Many": grpc.stream_stream_rpc_method_handler(self._many),
        }
        self._guarded = access.guarded(methods)

    async def _one(self, request, _context):
        self.reached.append(request)
        return f"answer to {request}"

    async def _many(self, requests, _context):
        async for request in requests:
            self.reached.append(request)
            yield f"answer to {request}"

    async def _requests(self, *texts):
        for text in texts:
            self.read.append(text)
            yield text

    async def one(self, certificate, *texts, **more):
        return await self._guarded["One"].stream_unary(self._requests(*texts), Context(certificate, **more))

    def stream(self, certificate, *texts):
        return self._guarded["Many"].stream_stream(self._requests(*texts), Context(certificate))

    async def many(self, certificate, *texts):
        return [answer async for answer in self.stream(certificate, *texts)]


@pytest.fixture
def authorizer():
    return Authorizer()


@pytest.fixture
def calls(authorizer):
    return Calls(authorizer)


async def test_a_broker_is_served(calls, authorizer):
    assert await calls.one(BROKER, "a") == "answer to a"
    assert await calls.many(BROKER, "b", "c") == ["answer to b", "answer to c"]
    assert set(authorizer.asked) == {
        ("User:broker", "10.0.0.1", "ClusterAction", "One"),
        ("User:broker", "10.0.0.1", "ClusterAction", "Many"),
    }


@pytest.mark.parametrize(
    ("certificate", "why"),
    [
        (CLIENT, "User:client must have ClusterAction on Cluster:kafka-cluster"),
        (NAMELESS, "no rule fits"),
    ],
)
async def test_nobody_else_is_and_nothing_is_read(calls, certificate, why):
    for call in (calls.one, calls.many):
        with pytest.raises(AbortedError) as ended:
            await call(certificate, "a")
        assert ended.value.args == (grpc.StatusCode.PERMISSION_DENIED, why)
    assert (calls.read, calls.reached) == ([], [])


async def test_without_an_authorizer_a_trusted_certificate_suffices():
    calls = Calls(None)
    assert await calls.one(CLIENT, "a") == "answer to a"
    assert await calls.many(CLIENT, "a") == ["answer to a"]


async def test_without_tls_the_authorizer_decides_about_anonymous(authorizer):
    calls = Calls(authorizer, certificates=None)
    for call in (calls.one, calls.many):
        with pytest.raises(AbortedError) as ended:
            await call(None, "a")
        why = "User:ANONYMOUS must have ClusterAction on Cluster:kafka-cluster"
        assert ended.value.args == (grpc.StatusCode.PERMISSION_DENIED, why)
    assert (calls.read, calls.reached) == ([], [])
    authorizer.allowed.add("User:ANONYMOUS")
    assert await calls.one(None, "false") == "answer to false", "no certificate says who it is"
    assert await calls.many(None, "a", "b") == ["answer to a", "answer to b"]


@pytest.mark.parametrize("has_authorizer", [True, False])
async def test_a_certificate_for_no_brokers_host_is_refused_before_anything_is_read(
    authorizer, has_authorizer, monkeypatch
):
    monkeypatch.setattr(Claims, "is_stranger", True)
    calls = Calls(authorizer if has_authorizer else None)
    for call in (calls.one, calls.many):
        with pytest.raises(AbortedError) as ended:
            await call(BROKER, "a")
        assert ended.value.args == (grpc.StatusCode.PERMISSION_DENIED, "nobody there")
    assert (calls.read, calls.reached) == ([], [])


async def test_a_request_in_the_name_of_another_broker_is_refused(calls):
    for name, call in (("One", calls.one), ("Many", calls.many)):
        with pytest.raises(AbortedError) as ended:
            await call(BROKER, "false")
        assert ended.value.args == (grpc.StatusCode.PERMISSION_DENIED, f"{name} is not from it")
    assert calls.reached == []


async def test_what_cannot_be_checked_now_may_be_tried_again(calls):
    with pytest.raises(AbortedError) as ended:
        await calls.one(BROKER, "unclear")
    assert ended.value.args[0] is grpc.StatusCode.UNAVAILABLE
    assert calls.reached == []


async def test_a_right_that_is_taken_away_ends_a_stream(calls, authorizer):
    async def requests():
        yield "a"
        authorizer.allowed.clear()
        yield "b"

    answers = calls._guarded["Many"].stream_stream(requests(), Context(BROKER))
    assert await anext(answers) == "answer to a"
    with pytest.raises(AbortedError) as ended:
        await anext(answers)
    assert calls.reached == ["a"]
    assert ended.value.args[0] is grpc.StatusCode.PERMISSION_DENIED


async def test_a_stream_may_not_go_on_in_the_name_of_another_broker(calls):
    answers = calls.stream(BROKER, "a", "false", "b")
    assert await anext(answers) == "answer to a"
    with pytest.raises(AbortedError) as ended:
        await anext(answers)
    assert ended.value.args == (grpc.StatusCode.PERMISSION_DENIED, "Many is not from it")
    assert calls.reached == ["a"]


async def test_a_stream_whose_request_cannot_be_checked_may_be_opened_again(calls):
    with pytest.raises(AbortedError) as ended:
        await calls.many(BROKER, "a", "unclear")
    assert ended.value.args[0] is grpc.StatusCode.UNAVAILABLE
    assert calls.reached == ["a"]


async def test_a_stream_ends_when_no_broker_is_at_its_host_any_more(calls, monkeypatch):
    async def requests():
        yield "a"
        monkeypatch.setattr(Claims, "is_stranger", True)
        yield "b"

    answers = calls._guarded["Many"].stream_stream(requests(), Context(BROKER))
    assert await anext(answers) == "answer to a"
    with pytest.raises(AbortedError) as ended:
        await anext(answers)
    assert ended.value.args == (grpc.StatusCode.PERMISSION_DENIED, "nobody there")
    assert calls.reached == ["a"]


async def test_a_call_without_a_request_is_refused_and_a_stream_may_be_empty(calls):
    with pytest.raises(AbortedError) as ended:
        await calls.one(BROKER)
    assert ended.value.args[0] is grpc.StatusCode.INVALID_ARGUMENT
    assert await calls.many(BROKER) == []


@pytest.mark.parametrize(
    ("peer", "host"),
    [("ipv6:%5B::1%5D:5000", "0:0:0:0:0:0:0:1"), ("ipv6:[::ffff:10.0.0.1]:5000", "10.0.0.1")],
)
async def test_acls_see_the_address_as_java_writes_it(calls, authorizer, peer, host):
    await calls.one(BROKER, "a", peer=peer)
    assert authorizer.asked[0][1] == host
