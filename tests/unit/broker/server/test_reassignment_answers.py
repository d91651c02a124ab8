from __future__ import annotations

from barnabas.broker.server.reassignment_answers import Names, reassignment_answer
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition

NAMES = Names(
    "AlterPartitionReassignmentsResponse",
    "responses",
    "ReassignableTopicResponse",
    "ReassignablePartitionResponse",
)
NONE = {"error_code": ErrorCode.NONE, "error_message": None}
GONE = {"error_code": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "error_message": "gone"}


async def test_partitions_are_grouped_by_topic(request_of):
    request = request_of(45, 0, None)
    said = {TopicPartition("b", 3): GONE, TopicPartition("a", 0): NONE, TopicPartition("b", 0): NONE}
    answer = await reassignment_answer(request, NAMES, said)
    assert (answer.error_code, answer.error_message) == (ErrorCode.NONE, None)
    assert [
        (topic.name, [(p.partition_index, p.error_code, p.error_message) for p in topic.partitions])
        for topic in answer.responses
    ] == [("b", [(3, 3, "gone"), (0, 0, None)]), ("a", [(0, 0, None)])]


async def test_a_response_may_have_only_one_error(request_of):
    answer = await reassignment_answer(
        request_of(45, 0, None), NAMES, {}, ErrorCode.NOT_CONTROLLER, "it is elsewhere"
    )
    told = answer.error_code, answer.error_message, answer.responses
    assert told == (ErrorCode.NOT_CONTROLLER, "it is elsewhere", ())
