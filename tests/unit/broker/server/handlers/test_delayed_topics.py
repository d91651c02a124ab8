from __future__ import annotations

from barnabas.broker.server.handlers.delayed_topics import await_absence, await_leaders
from barnabas.broker.server.portions import RequestDeadline
from barnabas.cluster.model.commands.topics import TopicResult
from barnabas.cluster.model.errors import ErrorCode

REFUSED = TopicResult("other", ErrorCode.INVALID_CONFIG, "refused")


async def test_what_was_refused_is_not_waited_for(broker) -> None:
    assert await await_leaders(broker.context, [REFUSED], RequestDeadline(60_000)) == {}
    broker.topic("other", 1)
    assert await await_absence(broker.context, [REFUSED], RequestDeadline(60_000)) == {}


async def test_what_is_late_is_named_with_its_time(broker) -> None:
    broker.topic("t", 1, -1)
    asked = [TopicResult("t", ErrorCode.NONE, None, 2), REFUSED]
    leaders = await await_leaders(broker.context, asked, RequestDeadline(1))
    absence = await await_absence(broker.context, asked, RequestDeadline(1))
    assert {name: result.error for name, result in leaders.items()} == {"t": ErrorCode.REQUEST_TIMED_OUT}
    assert "within 1 ms" in (leaders["t"].message or "")
    assert "after 1 ms" in (absence["t"].message or "")
