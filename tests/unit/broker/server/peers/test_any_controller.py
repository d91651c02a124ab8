import grpc
import grpc.aio
import pytest

from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.broker.server.peers.any_controller import AnyController
from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.topics import CreateTopics, CreateTopicsResult, NewTopic, TopicResult
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.requests import UpdateMetadataRequest
from barnabas.cluster.rpc.commands import METHODS, SERVICE

COMMAND = CreateTopics((NewTopic("t", 1, 1),))
RESULT = CreateTopicsResult((TopicResult("t", ErrorCode.NONE, partitions=1, replication_factor=1),))


class Own:
    async def submit(self, command, timeout_ms):
        assert (command, timeout_ms) == (COMMAND, 1000)
        return RESULT


def knowing(port, controller=2):
    metadata = MetadataCache()
    brokers = (
        Broker(BrokerId(1), BrokerEpoch(1), (Endpoint("GRPC", "127.0.0.1", 1),)),
        Broker(BrokerId(2), BrokerEpoch(2), (Endpoint("GRPC", "127.0.0.1", port),)),
    )
    metadata.apply(UpdateMetadataRequest(BrokerId(2), ControllerEpoch(1), BrokerEpoch(1), (), brokers))
    metadata.controller_changed(controller)
    return metadata


@pytest.fixture
async def other():
    """The controller on another broker: what it was asked, and the port where it is."""
    asked = []

    async def create_topics(request, _context):
        asked.append(request)
        return RESULT

    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    method = METHODS[CreateTopics]
    handler = grpc.unary_unary_rpc_method_handler(create_topics, method.decode, method.encode_result)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {method.name: handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield asked, port
    await server.stop(0)


async def test_its_own_controller_is_asked_directly():
    assert await AnyController(BrokerId(2), Own(), knowing(1), 4000).submit(COMMAND, 1000) == RESULT


async def test_another_brokers_controller_is_asked_over_grpc(other):
    asked, port = other
    assert await AnyController(BrokerId(1), Own(), knowing(port), 4000).submit(COMMAND, 1000) == RESULT
    assert asked == [(COMMAND, 1000)]


async def test_without_a_controller_the_command_is_refused():
    answer = await AnyController(BrokerId(1), Own(), knowing(1, controller=None), 4000).submit(COMMAND, 1000)
    assert answer == Refused(ErrorCode.NOT_CONTROLLER, "there is no controller now")


async def test_a_controller_that_does_not_answer_is_named(unused_tcp_port):
    answer = await AnyController(BrokerId(1), Own(), knowing(unused_tcp_port), 4000).submit(COMMAND, 1000)
    assert answer.error in {ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT}
    assert "the controller, broker 2, did not answer" in answer.message
