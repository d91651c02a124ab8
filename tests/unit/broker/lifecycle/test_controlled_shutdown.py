from __future__ import annotations

import pytest

from barnabas.broker.lifecycle.controlled_shutdown import ControlledShutdownSettings, shut_down_controlled
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.shutdown import ControlledShutdown, ControlledShutdownResult
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition

DONE = ControlledShutdownResult(())
LEFT = ControlledShutdownResult((TopicPartition("t", 0),))
NOBODY = Refused(ErrorCode.NOT_CONTROLLER, "there is no controller now")


class Controller:
    """Answers one after the other, and notes what it was asked."""

    def __init__(self, *answers):
        self._answers = list(answers)
        self.asked = []

    async def submit(self, command, timeout_ms):
        self.asked.append((command, timeout_ms))
        return self._answers.pop(0)


@pytest.mark.parametrize(
    ("answers", "ends_clean", "pauses"),
    [
        ([DONE], True, 0),
        ([LEFT, DONE], True, 1),
        ([NOBODY, LEFT, DONE], True, 2),
        ([NOBODY, LEFT, LEFT], False, 2),
        ([NOBODY, NOBODY, NOBODY], False, 2),
    ],
)
async def test_it_asks_until_nothing_remains_or_its_tries_are_used_up(answers, ends_clean, pauses):
    """KAFKA-14154: a controller that no longer is one sticks nobody; each try finds who is."""
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    controller = Controller(*answers)
    settings = ControlledShutdownSettings(max_retries=3, retry_backoff_ms=250, socket_timeout_ms=900)
    done = await shut_down_controlled(
        BrokerId(2), lambda: BrokerEpoch(7), controller, settings, sleep, is_connected=lambda: True
    )
    assert done is ends_clean
    assert slept == [0.25] * pauses
    assert controller.asked == [(ControlledShutdown(BrokerId(2), BrokerEpoch(7)), 900)] * len(answers)


@pytest.mark.parametrize(
    "settings", [ControlledShutdownSettings(enable=False), ControlledShutdownSettings(max_retries=0)]
)
async def test_a_broker_may_skip_controlled_shutdown(settings):
    controller = Controller()
    assert not await shut_down_controlled(
        BrokerId(2), lambda: BrokerEpoch(7), controller, settings, is_connected=lambda: True
    )
    assert controller.asked == []


async def test_each_try_is_in_the_name_of_the_present_registration():
    """The session expires between two tries, and the broker registers anew."""
    lives = iter((BrokerEpoch(7), BrokerEpoch(9)))
    controller = Controller(Refused(ErrorCode.STALE_BROKER_EPOCH, "a former life"), DONE)
    settings = ControlledShutdownSettings(retry_backoff_ms=0)
    assert await shut_down_controlled(
        BrokerId(2), lambda: next(lives), controller, settings, is_connected=lambda: True
    )
    assert [command.broker_epoch for command, _ in controller.asked] == [7, 9]


async def test_no_controller_is_asked_while_zookeeper_is_away():
    connected = iter((False, True))
    controller = Controller(DONE)
    settings = ControlledShutdownSettings(max_retries=3, retry_backoff_ms=0)
    done = await shut_down_controlled(
        BrokerId(2), lambda: BrokerEpoch(7), controller, settings, is_connected=lambda: next(connected)
    )
    assert done
    assert len(controller.asked) == 1


async def test_a_broker_without_zookeeper_stops_after_its_tries():
    controller = Controller()
    settings = ControlledShutdownSettings(max_retries=3, retry_backoff_ms=0)
    assert not await shut_down_controlled(
        BrokerId(2), lambda: BrokerEpoch(7), controller, settings, is_connected=lambda: False
    )
    assert controller.asked == []
