"""Returns that no line states: what presupposes one, and what does not."""

from __future__ import annotations

from datetime import timedelta

import pytest

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.brokers import absences
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import Bound, Unknown
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.returns import Returns
from barnabas.analysis.story.rows import BrokerLine, Delay
from barnabas.analysis.story.runs import What
from barnabas.cluster.model.statechange import Kind
from tests.unit.analysis.story.rows import at, broker_line, line, state


def said(seconds: float, kind: str, by: int = 101, epoch: int | None = None) -> BrokerLine:
    """A controller's line about broker 1."""
    return broker_line(seconds, kind, by)._replace(role="controller", subject=1, broker_epoch=epoch)


def deleted(seconds: float, by: int = 3) -> BrokerLine:
    return said(seconds, BrokerKind.BROKERS_CHANGED, by)._replace(subject=None, lost=(1,))


FENCED, GRANTED = BrokerKind.BROKER_FENCED, BrokerKind.BROKER_STOP_GRANTED
STOP_ASKED = said(600, BrokerKind.BROKER_STOP_ASKED)._replace(
    line=line("Unfenced broker 1 has requested and been granted a controlled shutdown.")
)


@pytest.mark.parametrize(
    "lines",
    [
        (said(0, FENCED), said(600, FENCED, 102)),
        (said(0, GRANTED), said(600, FENCED)),
        (said(0, FENCED), STOP_ASKED),
        (deleted(0), deleted(600)),
    ],
    ids=["fenced-twice", "fenced-after-a-stop", "asks-to-stop", "deleted-twice"],
)
def test_a_broker_that_is_lost_again_had_returned(lines: tuple[BrokerLine, ...]) -> None:
    first, second = absences(Observed(brokers=lines))
    assert isinstance(first.returned, Bound)
    assert (first.returned.at_least, first.returned.at_most) == (at(0), at(600))
    assert isinstance(second.returned, Unknown)


@pytest.mark.parametrize(
    "lines",
    [
        (said(0, FENCED), said(59, FENCED, 102)),
        (said(0, FENCED, epoch=200), said(600, FENCED, epoch=300)),
        (deleted(0), deleted(59, 2)),
    ],
    ids=["a-new-controller-repeats-it", "4.0-registered-only", "a-new-controller-deletes-it"],
)
def test_a_loss_that_may_be_said_twice_shows_no_return(lines: tuple[BrokerLine, ...]) -> None:
    (absence,) = absences(Observed(brokers=lines))
    assert isinstance(absence.returned, Unknown)


def test_what_controllers_say_by_clocks_that_differ_shows_no_return() -> None:
    apart = [Delay(101, 102, timedelta(seconds=-30))]
    lines = (said(0, FENCED), said(600, FENCED, 102))
    (absence,) = absences(Observed(brokers=lines, delays=apart))
    assert isinstance(absence.returned, Unknown)


def test_a_broker_that_becomes_a_leader_had_returned() -> None:
    lines = (said(0, FENCED, epoch=200), said(600, FENCED, epoch=300))
    first, _ = absences(Observed(brokers=lines, joined={1: [at(200), at(300)]}))
    assert isinstance(first.returned, Bound)
    assert (first.returned.at_least, first.returned.at_most) == (at(0), at(200))


@pytest.mark.parametrize("time", [59, 541])
def test_what_a_broker_may_write_late_shows_no_return(time: float) -> None:
    lines = (said(0, FENCED, epoch=200), said(600, FENCED, epoch=300))
    (absence,) = absences(Observed(brokers=lines, joined={1: [at(time)]}))
    assert isinstance(absence.returned, Unknown)


def test_a_process_that_is_cut_off_writes_on() -> None:
    (absence,) = absences(Observed(brokers=(said(0, FENCED),), served={1: [at(200)]}))
    assert isinstance(absence.returned, Unknown)


def test_a_broker_that_is_elected_between_two_losses_had_returned() -> None:
    lines = (deleted(0), said(600, BrokerKind.BROKER_UNREGISTERED))
    elected = state(300, 1, 5, was="OnlinePartition")
    first, _ = absences(Observed(brokers=lines, states=(elected,)))
    assert isinstance(first.returned, Bound)
    assert (first.returned.at_least, first.returned.at_most) == (at(0), at(300))


def test_a_process_that_writes_after_the_end_of_one_is_another() -> None:
    lines = (broker_line(0, BrokerKind.STOPPED), broker_line(600, BrokerKind.STARTING))
    first, second = absences(Observed(brokers=lines, served={1: [at(200)]}, spoken={1: [at(0), at(200)]}))
    assert isinstance(first.returned, Bound)
    assert (first.returned.at_least, first.returned.at_most) == (at(0), at(200))
    assert second.started == at(600)


STOP = (
    said(599.9, BrokerKind.BROKER_STOP_ASKED, 3),
    broker_line(600, BrokerKind.CONTROLLED_SHUTDOWN_STARTED),
    broker_line(602, BrokerKind.CONTROLLED_SHUTDOWN_SUCCEEDED),
    broker_line(603, BrokerKind.STOPPED),
)


def test_a_broker_whose_stop_zookeepers_controller_grants_had_returned() -> None:
    first, second = absences(Observed(brokers=(deleted(0), *STOP)))
    assert isinstance(first.returned, Bound)
    assert (first.returned.at_least, first.returned.at_most) == (at(0), at(602))
    assert second.cause is Cause.PLANNED


def test_a_broker_that_is_cut_off_may_stop() -> None:
    (absence,) = absences(Observed(brokers=(deleted(0), *STOP[1:2], *STOP[3:])))
    assert absence.cause is Cause.STOPPED


class Counted(BrokerLine):
    """A line that counts how often its kind is asked for."""

    asked = 0

    @property
    def kind(self) -> str:
        Counted.asked += 1
        return self[1]


def test_an_absence_of_many_lines_is_looked_at_once() -> None:
    lines = [Counted(*said(seconds, Kind.REPLICAS_OFFLINE)) for seconds in range(2_000)]
    Returns(Observed()).added(1, [(What.GONE, line) for line in lines])
    assert Counted.asked < 20 * len(lines)
