"""The story against the truth: a simulated cluster writes logs, any of its lines are lost, no bound is false.

The simulators know who was gone when and which partition had no leader when. One writes what Kafka 2.8 with
ZooKeeper writes at INFO, the other what 3.7 with KRaft writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.analysis.story.certainty import Bound, Duration, Fact, Instant, earliest, latest
from barnabas.analysis.story.incident import Incident
from barnabas.analysis.story.incidents import incidents
from barnabas.analysis.story.observed import Observed
from tests.unit.analysis.story.cluster import ACTIONS, BROKERS, Cluster, at
from tests.unit.analysis.story.kraft_cluster import KraftCluster


def holds(told: Duration, true: timedelta | None) -> bool:
    """Whether what is told of a duration is true; ``None`` is one that did not end."""
    match told:
        case Fact(value=value):
            return value == true
        case Bound(at_least=low, at_most=high):
            if true is None:
                return high is None
            return (low is None or low <= true) and (high is None or true <= high)
    return True


def contains(told: Instant, true: datetime) -> bool:
    low, high = earliest(told), latest(told)
    return (low is None or low <= true) and (high is None or true <= high)


def falsehoods(cluster: Cluster, found: Sequence[Incident]) -> Iterator[str]:
    """What the incidents claim and the truth denies."""
    for incident in found:
        for absence in incident.absences:
            times = [at(when) for broker, when in cluster.departures if broker == absence.broker]
            if not any(contains(absence.gone, time) for time in times):
                yield f"broker {absence.broker} gone {absence.gone}; truly {times}"
        for cost in incident.costs:
            for name in cost.partitions:
                true = [
                    None if until is None else timedelta(milliseconds=until - since)
                    for topic, since, until in cluster.outages
                    if f"{topic}-0" == name
                ]
                if not any(holds(cost.duration, each) for each in true):
                    yield f"{name} had no leader {cost.duration}; truly {true}"


SCRIPTS = st.lists(
    st.tuples(st.integers(8_000, 40_000), st.sampled_from(ACTIONS), st.sampled_from(BROKERS)), max_size=8
)


@pytest.mark.parametrize("generation", [Cluster, KraftCluster])
@given(script=SCRIPTS, dropped=st.sets(st.integers(0, 120)))
def test_no_line_that_is_lost_makes_a_claim_false(
    generation: type[Cluster],
    script: list[tuple[int, str, int]],
    dropped: set[int],
    observe: Callable[..., Observed],
) -> None:
    cluster = generation()
    cluster.run(script)
    found = incidents(observe(cluster.logs(dropped)))
    assert list(falsehoods(cluster, found)) == []


def test_the_simulators_write_lines_that_are_read(observe: Callable[..., Observed]) -> None:
    script = [(8_000, "kill", 3), (20_000, "start", 3), (20_000, "stop", 1)]
    for generation in (Cluster, KraftCluster):
        cluster = generation()
        cluster.run(script)
        found = incidents(observe(cluster.logs(set())))
        assert {absence.broker for each in found for absence in each.absences} == {1, 3}
        assert any(each.costs for each in found)
