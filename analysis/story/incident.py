"""An incident: something that happened, with everything that it cost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.certainty import Lines
from barnabas.analysis.story.clocks import Difference
from barnabas.analysis.story.clusters import Beginning
from barnabas.analysis.story.controllers import ControllerChange, Vacancy
from barnabas.analysis.story.costs import Cost, least
from barnabas.analysis.story.elections import UncleanElection
from barnabas.analysis.story.partitions import Gap
from barnabas.analysis.story.rows import Alone, BrokerLine, Refusal, RefusedProcess, SetBack
from barnabas.analysis.story.shortages import Shortage, refused
from barnabas.analysis.story.troubles import Trouble


class IncidentKind(StrEnum):
    """The kinds of incident."""

    DEPARTURE = "a broker left"
    SEVERAL = "several brokers left"
    ROLLING_RESTART = "rolling restart"
    WHOLE_CLUSTER = "the whole cluster stopped"
    NO_LEADER = "partitions without a leader"
    FAILED_DIRECTORY = "a log directory failed"
    UNDER_REPLICATED = "replicas out of sync"
    OFFLINE_REPLICAS = "replicas taken offline"
    CONTROLLER = "another controller"
    NO_CONTROLLER = "no controller"
    UNSEEN = "unseen changes"
    UNCLEAN = "unclean elections"
    OTHER_CLUSTER = "another cluster"
    OUT_OF_CONTACT = "a broker out of contact"
    DEAD_FETCHER = "a fetcher thread died"
    SECOND_PROCESS = "a second process of a broker"


class Unreached(NamedTuple):
    """A broker with which others lost contact, and that they could not reach again.

    Attributes:
        broker: The broker.
        first: The first line of each of the others that it lost contact, by time.
        tried: The last line about an attempt to connect that failed.
        spoke: The time of the broker's own last line; None if it has none.
    """

    broker: int
    first: tuple[BrokerLine, ...]
    tried: BrokerLine
    spoke: datetime | None


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that happened, with everything that it cost.

    Attributes:
        kind: What it is about.
        since: When it began, at the latest.
        until: When it was over; None if no line shows that.
        absences: The brokers that left, in their order.
        costs: The partitions that had no leader, the longest first.
        shortage: The partitions that were short of replicas; None if none was.
        changes: The changes of the controller, in their order.
        vacancies: The times without an active controller.
        troubles: The brokers' own lines about trouble around their absences.
        only_controllers: The nodes of KRaft that are controllers and no brokers.
        gaps: The leader changes that no line shows.
        failures: The lines about log directories that failed, because of which partitions had no leader, or
            of one broker that stayed, if no other incident is about them.
        refusals: The first line of each broker that it does not lead, because of which partitions had no
            leader, if no line of ``failures`` is about that broker.
        bounces: The lines of controllers that treated a broker that stayed like one that was lost, because of
            which partitions had no leader.
        unclean: The elections of leaders that were not in sync.
        begun: The first starts of brokers in another cluster than before.
        are_listed: Whether a controller's list of about that time names the members of the cluster.
        all_gone: The first moment at which the lines prove that all brokers were gone; None if there is none.
        lines: Lines that prove what no part proves.
        differences: The clocks that differ, if the incident has times that depend on several clocks.
        offline: The brokers of which a controller took replicas offline, whether or not they were gone.
        refused: The processes of one broker that were refused while another one of it was registered.
        set_backs: The clocks that were set back, if the incident has times that may depend on them.
        is_doubled: Whether it has times of an hour that occurred twice, each of which may be an hour off.
        fetchers: The deaths of the threads that had fetched what fell out of sync, if all of these had died,
            or that no other incident is about.
        lost_leaders: The lines of the brokers whose replicas fell out of sync that they lost contact with the
            leaders, if all of them did.
        lost_followers: The first line of each broker that lost contact with those whose replicas fell out of
            sync, if others lost contact with each of these.
        unreached: The broker that others could not reach any more, if no line shows whether it was lost.
        alone: The partitions that brokers led alone in sync which have not returned as far as the lines show,
            and of which no line shows a later state.
    """

    kind: IncidentKind
    since: datetime
    until: datetime | None
    absences: tuple[Absence, ...] = ()
    costs: tuple[Cost, ...] = ()
    shortage: Shortage | None = None
    changes: tuple[ControllerChange, ...] = ()
    vacancies: tuple[Vacancy, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    only_controllers: frozenset[int] = frozenset()
    gaps: tuple[Gap, ...] = ()
    failures: tuple[BrokerLine, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    unclean: tuple[UncleanElection, ...] = ()
    begun: tuple[Beginning, ...] = ()
    all_gone: datetime | None = None
    are_listed: bool = False
    lines: Lines = ()
    differences: tuple[Difference, ...] = ()
    offline: tuple[int, ...] = ()
    bounces: tuple[BrokerLine, ...] = ()
    refused: tuple[RefusedProcess, ...] = ()
    set_backs: tuple[SetBack, ...] = ()
    is_doubled: bool = False
    fetchers: tuple[BrokerLine, ...] = ()
    lost_leaders: tuple[BrokerLine, ...] = ()
    lost_followers: tuple[BrokerLine, ...] = ()
    unreached: Unreached | None = None
    alone: tuple[Alone, ...] = ()

    @property
    def proven(self) -> timedelta:
        """Return the time for which writes were impossible, as far as it is proven.

        It is the time without a leader, summed over the partitions, and the time in which the worst of those
        that were short of replicas refused writes with acks=all.
        """
        without = (least(cost.duration) * len(cost.partitions) for cost in self.costs)
        return sum(without, timedelta(0)) + (refused(self.shortage) if self.shortage else timedelta(0))

    @property
    def refusing(self) -> timedelta:
        """Return for how long the worst partition refused writes with acks=all, by any setting known."""
        return refused(self.shortage, by_any_setting=True) if self.shortage else timedelta(0)


TOGETHER = timedelta(seconds=30)
"""Brokers that leave within this time of each other, or of a return, are parts of one incident."""
