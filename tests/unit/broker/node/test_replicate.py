import asyncio

from structlog.testing import capture_logs

from barnabas.broker.node import replicate


class Controller:
    def __init__(self, resigned):
        self.resigned = resigned

    async def stop(self):
        await self.resigned.wait()


async def test_a_controller_that_does_not_resign_delays_the_end_for_so_long_alone(monkeypatch):
    monkeypatch.setattr(replicate, "RESIGN_DEADLINE_S", 0)
    with capture_logs() as lines:
        await replicate.resign(Controller(asyncio.Event()))
    assert [line["event"] for line in lines] == [
        "The controller did not resign within 0 s; its session ends now"
    ]


async def test_a_controller_that_resigned_is_not_reported():
    resigned = asyncio.Event()
    resigned.set()
    with capture_logs() as lines:
        await replicate.resign(Controller(resigned))
    assert lines == []
