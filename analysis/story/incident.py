"""An incident: something that happened, with everything that it cost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.certainty import Lines
from barnabas.analysis.story.clocks import Difference
from barnabas.analysis.story.clusters import Beginning
from barnabas.analysis.story.controllers import ControllerChange, Vacancy
from barnabas.analysis.story.costs import Cost, least
from barnabas.analysis.story.elections import UncleanElection
from barnabas.analysis.story.partitions import Gap
from barnabas.analysis.story.rows import BrokerLine, Refusal
from barnabas.analysis.story.shortages import Shortage
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
    CONTROLLER = "another controller"
    NO_CONTROLLER = "no controller"
    UNSEEN = "unseen changes"
    UNCLEAN = "unclean elections"
    OTHER_CLUSTER = "another cluster"


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
        is_doubled: Whether it has times of an hour that occurred twice, each of which may be an hour off.
        lasting: When the logs end, if no line shows that it was over by then; None otherwise.
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
    bounces: tuple[BrokerLine, ...] = ()
    is_doubled: bool = False
    lasting: datetime | None = None

    @property
    def proven(self) -> timedelta:
        """Return the time for which writes were impossible, as far as it is proven.

        It is the time without a leader, summed over the partitions, and the time in which the worst of those
        that were short of replicas refused writes with acks=all.
        """
        without = sum((least(cost.duration) * len(cost.partitions) for cost in self.costs), timedelta(0))
        is_proven = self.shortage is not None and self.shortage.is_proven
        return without + (self.refusing if is_proven else timedelta(0))

    @property
    def refusing(self) -> timedelta:
        """Return for how long the worst partition refused writes with acks=all, by any setting known."""
        return timedelta(0) if self.shortage is None else self.shortage.refused
