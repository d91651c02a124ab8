"""What is worth an alert, from hand-made logs; and nothing of what the story calls unknown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.analysis.story.certainty import Bound, Fact, Line, Unknown, earliest
from barnabas.analysis.story.episodes import AlertKind, Episode, episodes
from barnabas.analysis.story.incidents import incidents
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.rows import Controller, State
from tests.unit.analysis.story.test_truth import SCRIPTS, Cluster, at, contains

NO_TIME, LED = timedelta(0), timedelta(milliseconds=20)

Observe = Callable[..., Observed]

STATE = "Partition orders-0 state changed to (Leader:-1,ISR:1,LeaderEpoch:1,ControllerEpoch:5) after removing"


def line(second: float, text: str) -> str:
    time = datetime(2024, 3, 5, 10) + timedelta(seconds=second)  # noqa: DTZ001
    stamp = time.isoformat(" ", timespec="milliseconds").replace(".", ",")
    return f"[{stamp}] INFO {text} (state.change.logger)\n"


def changed(second: float, source: str, leader: int, epoch: int, isr: str, *, version: int) -> str:
    state = f"LeaderAndIsr(leader={leader}, leaderEpoch={epoch}, isr=List({isr}), zkVersion={version})"
    change = f"Changed partition orders-0 from {source} to OnlinePartition with state {state}"
    return line(second, f"[Controller id=3 epoch=5] {change}")


def lost(second: float, epoch: int, isr: str, leader: int = -1, replica: int = 1) -> str:
    state = f"(Leader:{leader},ISR:{isr},LeaderEpoch:{epoch},ControllerEpoch:5)"
    why = f"after removing replica {replica} from the ISR as part of transition to OfflineReplica"
    return line(second, f"[Controller id=3 epoch=5] Partition orders-0 state changed to {state} {why}")


def of_kind(found: Sequence[Episode], kind: AlertKind) -> list[Episode]:
    return [each for each in found if each.kind is kind]


def controller_log(observe: Observe, *lines: str, min_insync: int | None = None) -> list[Episode]:
    return episodes(observe({"broker-3/state-change.log": "".join(lines)}, min_insync))


def test_a_partition_without_a_leader_lasts_until_a_line_shows_one(observe: Observe) -> None:
    logs = [changed(0, "NewPartition", 1, 0, "1", version=0), lost(26.1, 1, "1")]
    (episode,) = of_kind(controller_log(observe, *logs), AlertKind.NO_LEADER)
    assert (episode.subject, episode.topic, episode.partition) == ("orders-0", "orders", 0)
    assert episode.brokers == (1,)
    assert episode.lasts
    assert episode.until is None
    assert isinstance(episode.begin, Bound)
    assert isinstance(episode.end, Unknown)
    assert episode.text == (
        "orders-0 lost its leader, broker 1, at 2024-03-05 10:00:26.100 or before, and no line shows a later "
        "leader."
    )
    assert STATE in episode.lines[0].text
    logs.append(changed(120, "OfflinePartition", 1, 2, "1", version=2))
    (episode,) = of_kind(controller_log(observe, *logs), AlertKind.NO_LEADER)
    assert not episode.lasts
    assert episode.text == "orders-0 had no leader for at least 1 min 33 s, until broker 1 was elected."


def state(
    version: int, leader: int, *isr: int, election: str | None = None, controller_epoch: int | None = 5
) -> State:
    time = at(version)
    return State(
        "orders", 0, 0, version, version, leader, isr, None, controller_epoch, time, time, None, None, None,
        Line("log", 0, version, f"version {version}"), election,
    )  # fmt: skip


def unclean(*states: State) -> list[str]:
    return [each.text for each in of_kind(episodes(Observed(states=states)), AlertKind.UNCLEAN_ELECTION)]


def test_an_election_from_the_elr_is_not_unclean() -> None:
    assert unclean(state(3, 1, 1), state(4, 2, 2, election="eligible")) == []
    assert unclean(state(3, 1, 1, 2), state(4, 2, 2, election="clean")) == []


def test_an_election_that_the_controller_calls_unclean_is_an_event_also_without_the_state_before() -> None:
    (text,) = unclean(state(3, 1, 1), state(4, 2, 2, election="unclean"))
    assert "although it was not in the ISR [1]" in text
    (text,) = unclean(state(1, 1, 1), state(4, 2, 2, election="unclean"))
    assert "was elected leader of orders-0 at 2026-11-21 10:00:00.004 uncleanly: acknowledged" in text


def test_brokers_alone_do_not_prove_an_unclean_election() -> None:
    """In KRaft mode the leader may come from the ELR, and only the controller knows it."""
    assert len(unclean(state(3, 1, 1), state(4, 2, 2))) == 1
    assert unclean(state(3, 1, 1, controller_epoch=None), state(4, 2, 2, controller_epoch=None)) == []


def test_where_epochs_jump_nothing_is_an_episode(observe: Observe) -> None:
    logs = [
        changed(0, "NewPartition", 1, 0, "1,2", version=0),
        changed(90, "OnlinePartition", 2, 7, "2,1", version=9),
    ]
    assert controller_log(observe, *logs, min_insync=2) == []


def test_an_isr_below_the_minimum_is_one_only_if_the_minimum_is_known(observe: Observe) -> None:
    logs = [
        changed(0, "NewPartition", 1, 0, "1,2,3", version=0),
        lost(10, 1, "1,3", leader=1, replica=2),
        lost(20, 2, "1", leader=1, replica=3),
    ]
    assert of_kind(controller_log(observe, *logs), AlertKind.UNDER_MIN_ISR) == []
    assert of_kind(controller_log(observe, *logs, min_insync=1), AlertKind.UNDER_MIN_ISR) == []
    (episode,) = of_kind(controller_log(observe, *logs, min_insync=2), AlertKind.UNDER_MIN_ISR)
    assert episode.lasts
    assert episode.text == (
        "orders-0 fell below the brokers' min.insync.replicas=2 at 2024-03-05 10:00:20.000 or before, to 1 "
        "in sync: writes with acks=all may be refused, and no line shows a larger ISR since."
    )
    logs.append(changed(50, "OnlinePartition", 1, 3, "1,2,3", version=3))
    (episode,) = of_kind(controller_log(observe, *logs, min_insync=2), AlertKind.UNDER_MIN_ISR)
    assert not episode.lasts
    assert episode.text == (
        "orders-0 fell below the brokers' min.insync.replicas=2 at 2024-03-05 10:00:20.000 or before, to 1 "
        "in sync, and was no longer below it at 2024-03-05 10:00:50.000 or before: writes with acks=all may "
        "have been refused between."
    )


OWN = (
    "[2024-03-05 {time}] INFO Processing override for entityPath: topics/orders with config: "
    "Map(min.insync.replicas -> {value}) (kafka.server.DynamicConfigManager)\n"
)
REFUSED = (
    "[2024-03-05 {time}] ERROR [ReplicaManager broker=1] Error processing append operation on partition "
    "orders-0 (kafka.server.ReplicaManager)\n"
    "org.apache.kafka.common.errors.NotEnoughReplicasException: The size of the current ISR Set(1) is "
    "insufficient to satisfy the min.isr requirement of 2 for partition orders-0\n"
)


def with_server_log(observe: Observe, lines: str, *logs: str, min_insync: int | None = None) -> list[Episode]:
    found = {"broker-3/state-change.log": "".join(logs), "broker-1/server.log": lines}
    return of_kind(episodes(observe(found, min_insync)), AlertKind.UNDER_MIN_ISR)


def test_the_topics_own_setting_proves_that_writes_are_refused(observe: Observe) -> None:
    logs = [changed(0, "NewPartition", 1, 0, "1,2", version=0), lost(20, 1, "1", leader=1, replica=2)]
    (episode,) = with_server_log(observe, OWN.format(time="10:00:01,000", value=2), *logs, min_insync=1)
    assert episode.text == (
        "orders-0 fell below min.insync.replicas=2 at 2024-03-05 10:00:20.000 or before, to 1 in sync: "
        "writes with acks=all are refused, and no line shows a larger ISR since."
    )
    assert with_server_log(observe, OWN.format(time="10:00:01,000", value=1), *logs, min_insync=2) == []


def test_a_refused_write_proves_what_the_brokers_setting_does_not(observe: Observe) -> None:
    logs = [changed(0, "NewPartition", 1, 0, "1,2", version=0), lost(20, 1, "1", leader=1, replica=2)]
    (episode,) = with_server_log(observe, REFUSED.format(time="10:00:30,000"), *logs, min_insync=2)
    assert "orders-0 fell below min.insync.replicas=2 at 2024-03-05 10:00:20" in episode.text
    assert "writes with acks=all are refused" in episode.text
    assert "Error processing append operation" in episode.lines[0].text


def test_the_leaders_line_proves_that_the_isr_is_under_the_minimum(observe: Observe) -> None:
    logs = [changed(0, "NewPartition", 1, 0, "1,2", version=0)]
    shrunk = (
        "[2024-03-05 10:00:20,000] INFO [Partition orders-0 broker=1] ISR updated to 1 (under-min-isr) and "
        "version updated to 1 (kafka.cluster.Partition)\n"
    )
    (episode,) = with_server_log(observe, shrunk, *logs, min_insync=2)
    assert episode.text == (
        "orders-0 fell below the brokers' min.insync.replicas=2 at 2024-03-05 10:00:20.000 or before, to 1 "
        "in sync: writes with acks=all are refused, and no line shows a larger ISR since."
    )


def isr_updated(second: int, isr: str, version: int) -> str:
    return (
        f"[2024-03-05 10:00:{second:02},000] INFO [Partition orders-0 broker=1] ISR updated to {isr} and "
        f"version updated to {version} (kafka.cluster.Partition)\n"
    )


def test_the_leaders_line_is_an_episode_although_no_line_gives_the_minimum(observe: Observe) -> None:
    logs = [changed(0, "NewPartition", 1, 0, "1,2", version=0)]
    (episode,) = with_server_log(observe, isr_updated(20, "1 (under-min-isr)", 1), *logs)
    assert episode.lasts
    assert episode.brokers == (1, 2)
    assert "ISR updated to 1 (under-min-isr)" in episode.lines[0].text
    assert episode.text == (
        "orders-0 was below its min.insync.replicas, whose value no line gives, at 2024-03-05 10:00:20.000 "
        "or before, with 1 in sync: writes with acks=all are refused, and no line shows a larger ISR since."
    )
    shrunk, grown = isr_updated(20, "1 (under-min-isr)", 1), isr_updated(40, "1,2 ", 2)
    (episode,) = with_server_log(observe, shrunk + grown, *logs)
    assert episode.until == datetime(2024, 3, 5, 10, 0, 40)  # noqa: DTZ001
    # Without the mark it is not known whether the ISR is too small.
    assert with_server_log(observe, isr_updated(20, "1 ", 1), *logs) == []


def test_too_few_in_sync_concern_the_leader_and_the_replicas_that_are_missing(observe: Observe) -> None:
    logs = [
        changed(0, "NewPartition", 1, 0, "1,2,3", version=0),
        changed(10, "OnlinePartition", 1, 1, "1,3", version=1),
        changed(20, "OnlinePartition", 3, 2, "3", version=2),
    ]
    (episode,) = of_kind(controller_log(observe, *logs, min_insync=2), AlertKind.UNDER_MIN_ISR)
    assert episode.brokers == (3, 1, 2)
    # Without the first line none shows that broker 2 has a replica.
    (episode,) = of_kind(controller_log(observe, *logs[1:], min_insync=2), AlertKind.UNDER_MIN_ISR)
    assert episode.brokers == (3, 1)


def test_a_partition_with_fewer_replicas_than_the_minimum_is_one_only_if_a_write_was_refused(
    observe: Observe,
) -> None:
    """Kafka caps the minimum at the number of replicas from 3.7 on."""
    logs = [changed(0, "NewPartition", 1, 0, "1", version=0), lost(20, 1, "1", leader=-1, replica=1)]
    assert with_server_log(observe, OWN.format(time="10:00:01,000", value=2), *logs, min_insync=2) == []
    (episode,) = with_server_log(observe, REFUSED.format(time="10:00:10,000"), *logs, min_insync=2)
    assert episode.text == (
        "orders-0 was below min.insync.replicas=2 at 2024-03-05 10:00:00.000 or before, with 1 "
        "in sync: writes with acks=all are refused, and no line shows a larger ISR since."
    )


def test_a_deleted_topic_has_no_episode_that_lasts(observe: Observe) -> None:
    logs = [
        changed(0, "NewPartition", 1, 0, "1,2", version=0),
        lost(10, 1, "1", leader=1, replica=2),
        lost(20, 2, "1"),
    ]
    observed = observe({"broker-3/state-change.log": "".join(logs)}, 2)
    gone = datetime(2024, 3, 5, 10, 1)  # noqa: DTZ001
    found = episodes(replace(observed, deleted={("orders", 0, 0): gone}))
    assert {each.kind: (each.lasts, each.until) for each in found} == {
        AlertKind.NO_LEADER: (False, gone), AlertKind.UNDER_MIN_ISR: (False, gone)
    }  # fmt: skip
    assert all("deleted" in each.text for each in found)


def test_an_incarnation_that_has_a_successor_does_not_last(observe: Observe) -> None:
    logs = [
        changed(0, "NewPartition", 1, 0, "1,2", version=0),
        lost(10, 1, "1", leader=1, replica=2),
        lost(20, 2, "1"),
    ]
    observed = observe({"broker-3/state-change.log": "".join(logs)}, 2)
    later = [state._replace(life=1) for state in observed.states[:1]]
    found = episodes(replace(observed, states=[*observed.states, *later]))
    assert [(each.kind, each.subject, each.lasts) for each in found] == [
        (AlertKind.UNDER_MIN_ISR, "orders-0", False), (AlertKind.NO_LEADER, "orders-0", False)
    ]  # fmt: skip
    assert all("created again later" in each.text for each in found)


def test_a_leader_from_outside_the_isr_is_an_event(observe: Observe) -> None:
    logs = [
        changed(0, "NewPartition", 1, 0, "1", version=0),
        lost(10, 1, "1"),
        changed(11, "OfflinePartition", 2, 2, "2", version=2),
    ]
    found = controller_log(observe, *logs)
    assert of_kind(found, AlertKind.UNCLEAN_ELECTION) == []  # the state without a leader lacks its version
    logs[1] = changed(10, "OfflinePartition", -1, 1, "1", version=1)
    (event,) = of_kind(controller_log(observe, *logs), AlertKind.UNCLEAN_ELECTION)
    assert event.is_event
    assert event.begin == Fact(datetime(2024, 3, 5, 10, 0, 11))  # noqa: DTZ001
    assert event.subject == "orders-0 leader epoch 2"
    assert event.text == (
        "Broker 2 was elected leader of orders-0 at 2024-03-05 10:00:11.000 although it was not in the ISR "
        "[1]: acknowledged records may be lost."
    )
    # A version between them may have been an ISR with broker 2.
    logs[2] = changed(11, "OfflinePartition", 2, 2, "2", version=3)
    assert of_kind(controller_log(observe, *logs), AlertKind.UNCLEAN_ELECTION) == []


def test_another_controller_is_an_event() -> None:
    times = [datetime(2024, 3, 5, 10, minute) for minute in range(4)]  # noqa: DTZ001
    found = episodes(
        Observed(
            controllers=[
                Controller(1, 5, times[0]), Controller(1, 6, times[1]), Controller(2, 7, times[2]),
                Controller(3, 9, times[3]),
            ]
        )
    )  # fmt: skip
    assert [(each.subject, each.brokers) for each in found] == [
        ("epoch 7 of broker 2", (2, 1)), ("epoch 9 of broker 3", (3, 2))
    ]  # fmt: skip
    assert [each.text for each in found] == [
        (
            "Broker 2 was the controller in epoch 7 at 2024-03-05 10:02:00.000 or before, after broker 1 in "
            "epoch 6."
        ),
        (
            "Broker 3 was the controller in epoch 9 at 2024-03-05 10:03:00.000 or before, after broker 2 in "
            "epoch 7 (1 controller epoch between, not in these logs)."
        ),
    ]


def test_controller_epochs_that_another_controller_has_are_not_missing() -> None:
    times = [datetime(2024, 3, 5, 10, minute) for minute in range(3)]  # noqa: DTZ001
    found = episodes(
        Observed(
            controllers=[
                Controller(1, 5, times[0]),
                Controller(2, 9, times[1]),
                Controller(3000, 7, times[2]),
            ]
        )
    )
    assert [each.text for each in found] == [
        (
            "Broker 2 was the controller in epoch 9 at 2024-03-05 10:01:00.000 or before, after broker 1 in "
            "epoch 5."
        )
    ]


def flapping(observe: Observe, *seconds: float) -> list[Episode]:
    logs, version = [changed(0, "NewPartition", 1, 0, "1,2", version=0)], 0
    for second in seconds:
        logs.append(changed(second, "OnlinePartition", 1, version + 1, "1", version=version + 1))
        logs.append(changed(second + 5, "OnlinePartition", 1, version + 2, "1,2", version=version + 2))
        version += 2
    return of_kind(controller_log(observe, *logs), AlertKind.FLAPPING_BROKER)


def test_a_broker_that_leaves_three_times_in_a_quarter_of_an_hour_flaps(observe: Observe) -> None:
    assert flapping(observe, 100, 200) == []
    assert flapping(observe, 100, 130, 160, 190) == []  # partition after partition: one departure
    assert flapping(observe, 100, 200, 100 + 15 * 60 + 1) == []
    (event,) = flapping(observe, 100, 200, 300, 500, 3_000)
    assert (event.subject, event.brokers, len(event.lines)) == ("broker 2", (2,), 4)
    assert event.text == (
        "Broker 2 left the cluster or ISRs 4 times within 6 min 40 s, the last time at 2024-03-05 "
        "10:08:20.000 or before."
    )
    assert len(flapping(observe, 100, 200, 300, 3_000, 3_100, 3_200)) == 2


def test_a_broker_that_leaves_the_cluster_every_half_a_minute_flaps(observe: Observe) -> None:
    def noticed(second: int, news: str) -> str:
        return (
            f"[2024-03-05 10:{second // 60:02}:{second % 60:02},000] INFO [Controller id=3] {news}, "
            "bounced brokers: , all live brokers: 3 (kafka.controller.KafkaController)\n"
        )

    left, back = "Newly added brokers: , deleted brokers: 2", "Newly added brokers: 2, deleted brokers: "
    logs = [noticed(second, left) + noticed(second + 10, back) for second in (100, 130, 160)]
    # What the broker's loss does to ISRs is the same departure, whether it is logged before or after.
    isrs = [
        changed(0, "NewPartition", 1, 0, "1,2", version=0),
        changed(99, "OnlinePartition", 1, 1, "1", version=1),
        changed(115, "OnlinePartition", 1, 2, "1,2", version=2),
    ]

    def flaps(number: int) -> list[Episode]:
        folder = {
            "broker-3/controller.log": "".join(logs[:number]),
            "broker-3/state-change.log": "".join(isrs),
        }
        return [each for each in episodes(observe(folder)) if each.kind is AlertKind.FLAPPING_BROKER]

    assert flaps(2) == []
    (event,) = flaps(3)
    assert event.text.startswith(
        "Broker 2 left the cluster or ISRs 3 times within 1 min 1 s, the last time at "
    )


GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.txt"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_no_golden_story_has_an_alert_that_it_does_not_have_itself(path: Path, observe: Observe) -> None:
    head, *parts = re.split(r"^== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    logs = dict(part.split("\n", 1) for part in parts)
    given = re.search(r"^min.insync.replicas=(\d+)$", head, re.MULTILINE)
    seen = observe(logs, None if given is None else int(given[1]))
    found = episodes(seen)
    said = {
        AlertKind.NO_LEADER: "had no leader",
        AlertKind.UNDER_MIN_ISR: "in sync",
        AlertKind.CONTROLLER_CHANGE: "controller",
        AlertKind.UNCLEAN_ELECTION: "acknowledged records may be lost",
    }
    for episode in found:
        assert said.get(episode.kind, "\0") in head, episode.text
    bounds = {
        (each.name, each.since, each.begin)
        for incident in incidents(seen)
        for cost in incident.costs
        for each in cost.each
    }
    for each in of_kind(found, AlertKind.NO_LEADER):
        assert (each.subject, earliest(each.begin), each.since) in bounds, each.text


@given(script=SCRIPTS, dropped=st.sets(st.integers(0, 120)))
def test_no_line_that_is_lost_makes_an_alert_false(
    script: list[tuple[int, str, int]], dropped: set[int], observe: Observe
) -> None:
    cluster = Cluster()
    cluster.run(script)
    for episode in of_kind(episodes(observe(cluster.logs(dropped))), AlertKind.NO_LEADER):
        true = [
            (at(since), None if until is None else at(until))
            for topic, since, until in cluster.outages
            if topic == episode.topic
        ]
        # Where the line of the new leader is lost, the election counts as the end, 20 ms before.
        assert any(
            contains(episode.begin, since)
            and (
                episode.lasts
                or (until is not None and any(contains(episode.end, until - step) for step in (NO_TIME, LED)))
            )
            for since, until in true
        ), (episode.begin, episode.end, episode.text, true)
