from __future__ import annotations

from datetime import datetime, timedelta

from barnabas.bench.truth.derive import truth_of
from barnabas.bench.truth.measured import Deed, Measured, at, span
from barnabas.bench.truth.probe import Answer
from barnabas.bench.truth.scenarios import Action
from barnabas.bench.truth.truths import FailedDisk, Leaderless, Span, Tenure, as_json, from_json
from barnabas.bench.truth.znodes import Registration, Written, Znodes

WINDOW = span(0, 100)
SESSION = timedelta(seconds=2)


def znodes(*states: tuple[float, int, int, tuple[int, ...]], ends: tuple[float, ...] = ()) -> Znodes:
    return Znodes(
        registrations=[Registration(1, 11, at(-1), at(end)) for end in ends] or [Registration(1, 11, at(-1))],
        controllers=[Tenure(1, 4, at(-1)), Tenure(2, 5, at(12))],
        states={"a-0": [Written(at(time), leader, epoch, isr) for time, leader, epoch, isr in states]},
    )


def measured(deed: Deed, known: Znodes, **answers: Answer) -> Measured:
    led = {(int(name[1:]), "a-0"): [answer] for name, answer in answers.items()}
    return Measured(WINDOW, [deed], known, led, ["a-0"], SESSION, 2)


KILL = Deed(1, Action.KILL, span(10, 10.1), span(20, 21))


def test_a_killed_leader_leaves_its_partition_until_the_next_one_leads() -> None:
    known = znodes((1, 1, 0, (1, 2)), (12.5, 2, 1, (2,)), ends=(12.0,))
    truth = truth_of(measured(KILL, known, b2=Answer(12.6, 12.7, led=True)))
    (departure,) = truth.departures
    assert (departure.was_controller, departure.kept) == (True, ("a-0",))
    assert truth.leaderless == (Leaderless("a-0", 1, span(10, 10.1), 2, span(12.5, 12.7)),)
    assert [each.size for each in truth.in_sync["a-0"]] == [2, 1]
    assert [each.epoch for each in truth.controllers] == [4, 5]


def test_a_stop_that_moved_its_leader_costs_nothing() -> None:
    stop = Deed(1, Action.STOP, span(10, 11), span(20, 21))
    known = znodes((1, 1, 0, (1, 2)), (10.2, 2, 1, (1, 2)), (10.3, 2, 2, (2,)), ends=(10.8,))
    assert truth_of(measured(stop, known)).leaderless == ()


def test_a_stop_that_could_not_move_its_leader_costs_until_its_return() -> None:
    stop = Deed(1, Action.STOP, span(10, 11), span(20, 21))
    known = znodes((1, 1, 0, (1,)), (10.5, -1, 1, (1,)), (20.7, 1, 2, (1,)), ends=(10.8,))
    (outage,) = truth_of(measured(stop, known, b1=Answer(20.8, 20.9, led=True))).leaderless
    assert (outage.leader_after, outage.end) == (1, span(20.7, 20.9))
    assert (outage.least, outage.most) == (timedelta(seconds=9.7), timedelta(seconds=10.9))


def test_a_leader_that_returns_in_its_own_epoch_leads_from_its_first_answer() -> None:
    known = znodes((1, 1, 0, (1,)), ends=(20.1,))
    (outage,) = truth_of(measured(KILL, known, b1=Answer(20.8, 20.9, led=True))).leaderless
    assert outage.end == span(20, 20.9)


def test_a_leader_that_returns_in_its_own_epoch_ends_the_outage_before_the_next_election() -> None:
    known = znodes((1, 1, 0, (1,)), (25, 2, 1, (1, 2)), ends=(20.1,))
    (outage,) = truth_of(measured(KILL, known, b1=Answer(20.8, 20.9, led=True))).leaderless
    assert (outage.leader_after, outage.end) == (1, span(20, 20.9))


def test_an_elected_leader_that_is_dead_does_not_lead() -> None:
    both = [KILL, Deed(2, Action.KILL, span(10, 10.1), span(30, 31))]
    known = znodes((1, 1, 0, (1, 2)), (12.5, 2, 1, (2,)), (31.5, 2, 2, (2,)), ends=(12.0,))
    found = truth_of(Measured(WINDOW, both, known, {}, ["a-0"], SESSION, 2)).leaderless
    assert [(each.leader_before, each.end) for each in found] == [(1, Span(at(30), WINDOW.high))]


def test_a_leader_that_was_replaced_before_it_answered_may_have_led_or_not() -> None:
    # Broker 1 has registered again; broker 2 leaves the ISR, which names broker 1 anew; then broker 1 leaves.
    known = znodes(
        (1, 1, 0, (1, 2, 3)), (20.5, 1, 1, (1, 3)), (20.6, -1, 2, (3,)), (20.7, 3, 3, (3,)), ends=(20.1,)
    )
    known.registrations.append(Registration(1, 12, at(20.4)))
    answers = {
        (1, "a-0"): [Answer(9, 9.1, led=True), Answer(40.3, 40.4, led=True)],
        (3, "a-0"): [Answer(20.8, 20.9, led=True)],
    }
    found = truth_of(Measured(WINDOW, [KILL], known, answers, ["a-0"], SESSION, 2)).leaderless
    begin, doubtful, last = span(10, 10.1), span(20.5, 20.6), span(20.7, 20.9)
    assert found == (
        Leaderless("a-0", 1, begin, 3, last),
        Leaderless("a-0", 1, begin, 1, doubtful, is_due=False),
        Leaderless("a-0", 1, doubtful, 3, last, is_due=False),
    )


def test_if_nobody_follows_a_leader_that_never_answered_there_may_have_been_none_to_the_end() -> None:
    known = znodes((1, 1, 0, (1, 2)), (12.5, 2, 1, (2,)), (12.6, -1, 2, (2,)), ends=(12.0,))
    found = truth_of(measured(KILL, known)).leaderless
    assert [(each.leader_before, each.leader_after, each.is_due) for each in found] == [
        (1, None, True),
        (1, 2, False),
        (2, None, False),
    ]


def test_a_broker_whose_session_was_ended_may_lead_what_it_is_elected_for_before_it_registers_again() -> None:
    expired = Deed(2, Action.EXPIRE, span(10, 10.1), span(10.2, 10.3))
    known = znodes((1, 1, 0, (1, 2, 3)), (10.15, 2, 1, (2, 3)), (10.25, 3, 2, (3,)), ends=(10.12,))
    known.registrations.append(Registration(2, 13, at(10.22)))
    answers = {(3, "a-0"): [Answer(10.3, 10.35, led=True)]}
    found = truth_of(Measured(WINDOW, [KILL, expired], known, answers, ["a-0"], SESSION, 2)).leaderless
    assert [(each.leader_before, each.leader_after, each.is_due) for each in found][:3] == [
        (1, 3, True),
        (1, 2, False),
        (2, 3, False),
    ]
    assert len({*found}) == len(found)


def test_a_process_that_has_not_registered_yet_does_not_lead() -> None:
    # Broker 2 left the ISR while broker 1, still named as the leader, was only starting.
    known = znodes(
        (1, 1, 0, (1, 2, 3)), (20.2, 1, 1, (1, 3)), (20.3, -1, 2, (3,)), (20.4, 3, 3, (3,)), ends=(20.1,)
    )
    known.registrations.append(Registration(1, 12, at(20.9)))
    (outage,) = truth_of(measured(KILL, known, b3=Answer(20.5, 20.6, led=True))).leaderless
    assert (outage.leader_after, outage.end) == (3, span(20.4, 20.6))


def test_a_leader_that_is_taken_from_a_broker_that_is_there_is_an_outage_too() -> None:
    known = znodes((1, 1, 0, (1, 2)), (40, -1, 1, (2,)), (40.1, 2, 2, (2,)))
    answers = {(2, "a-0"): [Answer(40.2, 40.3, led=True)]}
    found = truth_of(Measured(WINDOW, [], known, answers, ["a-0"], SESSION, 2)).leaderless
    assert found == (Leaderless("a-0", 1, span(40, 40.1), 2, span(40.1, 40.3)),)


def test_a_leader_that_is_taken_as_it_may_lead_again_may_be_told_as_an_outage_of_its_own() -> None:
    pause = Deed(1, Action.PAUSE, span(10, 10.1), span(20, 20.1))
    again = ((20.5, 1, 2, (1,)), (23, -1, 3, (2,)), (23.1, 2, 4, (2,)))
    known = znodes((1, 1, 0, (1, 2)), (13, -1, 1, (1,)), *again, ends=(13.0,))
    late = {"b1": Answer(23.04, 23.05, led=True), "b2": Answer(23.2, 23.3, led=True)}
    _, taken = truth_of(measured(pause, known, **late)).leaderless
    assert taken == Leaderless("a-0", 1, span(23, 23.1), 2, span(23.1, 23.3), is_due=False)


def test_the_election_of_a_broker_that_is_gone_begins_an_outage() -> None:
    known = znodes((1, 2, 0, (2, 1)), (11, 1, 1, (2, 1)), (12.5, 2, 2, (2,)), ends=(12.4,))
    found = truth_of(measured(KILL, known, b2=Answer(12.6, 12.7, led=True))).leaderless
    assert found == (Leaderless("a-0", 1, span(11, 11), 2, span(12.5, 12.7)),)


def test_an_outage_in_which_a_broker_is_elected_in_vain_is_one_and_may_be_told_as_two() -> None:
    both = [KILL, Deed(2, Action.KILL, span(10, 10.1), span(30, 31))]
    known = znodes((1, 1, 0, (1, 2, 3)), (12.5, 2, 1, (2, 3)), (13, 3, 2, (3,)), ends=(12.0,))
    answers = {(3, "a-0"): [Answer(13.1, 13.2, led=True)]}
    found = truth_of(Measured(WINDOW, both, known, answers, ["a-0"], SESSION, 2)).leaderless
    assert [(each.leader_before, each.leader_after, each.is_due) for each in found] == [
        (1, 3, True),
        (2, 3, False),
    ]


def test_a_broker_that_was_elected_while_it_was_cut_off_may_be_told_to_have_returned() -> None:
    both = [Deed(broker, Action.CUT, span(10, 10.1), span(20, 21)) for broker in (1, 2)]
    states = (1, 1, 0, (1, 2)), (13, 2, 1, (2,)), (14, -1, 2, (2,)), (20.5, 2, 3, (2,))
    answers = {(2, "a-0"): [Answer(20.6, 20.7, led=True)]}
    known = znodes(*states, ends=(13.0,))
    found = truth_of(Measured(WINDOW, both, known, answers, ["a-0"], SESSION, 2)).leaderless
    assert found == (
        Leaderless("a-0", 1, span(10, 13), 2, span(20.5, 20.7)),
        Leaderless("a-0", 2, span(13, 13), 2, span(20.5, 20.7), is_due=False),
    )


def test_a_leader_that_was_moved_from_a_paused_broker_before_anybody_noticed_need_not_be_told() -> None:
    pause = Deed(1, Action.PAUSE, span(10, 10.1), span(20, 21))
    known = znodes((1, 1, 0, (1, 2)), (12, 2, 1, (1, 2)), ends=(13.0,))
    (outage,) = truth_of(measured(pause, known, b2=Answer(12.1, 12.2, led=True))).leaderless
    assert (outage.leader_after, outage.is_due) == (2, False)


def test_a_leader_that_was_moved_from_a_killed_broker_before_anybody_noticed_need_not_be_told() -> None:
    known = znodes((1, 1, 0, (1, 2)), (12, 2, 1, (1, 2)), ends=(13.0,))
    (outage,) = truth_of(measured(KILL, known, b2=Answer(12.1, 12.2, led=True))).leaderless
    assert (outage.leader_after, outage.is_due) == (2, False)


def test_a_killed_leader_that_leads_again_at_once_must_be_told() -> None:
    known = znodes((1, 1, 0, (1, 2)), (20.5, 1, 1, (1, 2)), ends=(13.0,))
    (outage,) = truth_of(measured(KILL, known, b1=Answer(20.6, 20.7, led=True))).leaderless
    assert (outage.leader_after, outage.is_due) == (1, True)


def test_a_paused_leader_that_nobody_replaced_need_not_be_told() -> None:
    pause = Deed(1, Action.PAUSE, span(10, 10.1), span(20, 21))
    known = znodes((1, 1, 0, (1, 2)), (20.5, 1, 1, (1, 2)), ends=(13.0,))
    (outage,) = truth_of(measured(pause, known)).leaderless
    assert (outage.leader_after, outage.is_due) == (1, False)


def test_a_follower_that_leaves_the_isr_does_not_end_an_election_in_vain() -> None:
    known = znodes((1, 2, 0, (2, 1, 3)), (11, 1, 1, (2, 1, 3)), (12, 1, 2, (2, 1)), (12.5, 2, 3, (2,)))
    found = truth_of(measured(KILL, known, b2=Answer(12.6, 12.7, led=True))).leaderless
    assert found == (Leaderless("a-0", 1, span(11, 11), 2, span(12.5, 12.7)),)


def test_a_follower_that_leaves_the_isr_is_no_election_of_a_leader_whose_directory_is_gone() -> None:
    known = znodes((1, 1, 0, (1, 2, 3)), (12, 1, 1, (1, 2)), (13, 2, 2, (2,)))
    (outage,) = truth_of(dark(known, b2=Answer(13.1, 13.2, led=True))).leaderless
    assert (outage.begin, outage.leader_after) == (span(10, 13), 2)


def test_a_session_that_ended_without_a_deed_is_a_departure_too() -> None:
    known = znodes((1, 1, 0, (1, 2)), ends=(40.0,))
    known.registrations.append(Registration(1, 12, at(41)))
    found = truth_of(Measured(WINDOW, [], known, {}, ["a-0"], SESSION, 2)).departures
    assert [(each.action, each.gone, each.returned) for each in found] == [
        (Action.EXPIRE, span(34, 40), span(40, 43))
    ]


def test_a_session_that_ended_takes_what_the_broker_led_at_its_end() -> None:
    # The topic was created after the earliest moment at which the session may have been lost.
    known = znodes((36, 1, 0, (1, 2)), (40.2, 2, 1, (2,)), ends=(40.0,))
    known.registrations.append(Registration(1, 12, at(41)))
    answers = {(2, "a-0"): [Answer(40.4, 40.5, led=True)]}
    truth = truth_of(Measured(WINDOW, [], known, answers, ["a-0"], SESSION, 2))
    assert [each.kept for each in truth.departures] == [("a-0",)]
    assert truth.leaderless == (Leaderless("a-0", 1, span(34, 40), 2, span(40.2, 40.5)),)


def test_truths_survive_json() -> None:
    known = znodes((1, 1, 0, (1, 2)), (12.5, 2, 1, (2,)), ends=(12.0,))
    truth = truth_of(measured(KILL, known, b2=Answer(12.6, 12.7, led=True)))
    assert from_json(as_json(truth)) == truth
    assert at(0) == datetime(1970, 1, 1)  # noqa: DTZ001


def test_a_leader_that_is_cut_off_serves_its_clients_until_another_one_is_elected() -> None:
    cut = Deed(1, Action.CUT, span(10, 10.1), span(20, 21))
    known = znodes((1, 1, 0, (1, 2)), (13, 2, 1, (2,)), ends=(13.0,))
    truth = truth_of(measured(cut, known, b2=Answer(13.1, 13.2, led=True)))
    assert truth.leaderless == (Leaderless("a-0", 1, span(10, 13), 2, span(13, 13.2)),)
    assert from_json(as_json(truth)) == truth


def test_a_leader_that_is_cut_off_and_keeps_its_partition_costs_nothing() -> None:
    cut = Deed(1, Action.CUT, span(10, 10.1), span(20, 21))
    assert truth_of(measured(cut, znodes((1, 1, 0, (1,)), ends=(13.0,)))).leaderless == ()


def dark(known: Znodes, *deeds: Deed, **answers: Answer) -> Measured:
    led = {(int(name[1:]), "a-0"): [answer] for name, answer in answers.items()}
    disk = FailedDisk(1, span(10, 20), ("a-0", "__consumer_offsets-0"))
    return Measured(WINDOW, deeds, known, led, ["a-0"], SESSION, 2, [disk])


def test_a_leader_whose_directory_is_gone_leads_until_it_notices() -> None:
    truth = truth_of(dark(znodes((1, 1, 0, (1, 2)), (13, 2, 1, (2,))), b2=Answer(13.1, 13.2, led=True)))
    assert truth.leaderless == (Leaderless("a-0", 1, span(10, 13), 2, span(13, 13.2)),)
    assert truth.departures == ()
    assert from_json(as_json(truth)) == truth


def test_a_directory_without_a_leader_costs_nothing() -> None:
    assert truth_of(dark(znodes((1, 2, 0, (1, 2)), (13, 2, 1, (2,))))).leaderless == ()


def test_the_only_replica_leads_again_once_its_directory_is_back() -> None:
    stop = Deed(1, Action.STOP, span(19, 20), span(20, 22))
    known = znodes((1, 1, 0, (1,)), (13, -1, 1, (1,)), (21, 1, 2, (1,)), ends=(19.5,))
    truth = truth_of(dark(known, stop, b1=Answer(21.1, 21.2, led=True)))
    assert truth.leaderless == (Leaderless("a-0", 1, span(10, 13), 1, span(21, 21.2)),)


def test_nobody_leads_until_the_end_if_the_directory_stays_away() -> None:
    known = znodes((1, 1, 0, (1,)), (13, -1, 1, (1,)))
    assert truth_of(dark(known)).leaderless == (Leaderless("a-0", 1, span(10, 13), None, None),)


def test_the_only_replica_may_lead_again_in_its_old_leader_epoch() -> None:
    truth = truth_of(dark(znodes((1, 1, 0, (1,))), b1=Answer(21.1, 21.2, led=True)))
    assert truth.leaderless == (Leaderless("a-0", 1, span(10, 20), 1, span(20, 21.2)),)


def test_a_broker_whose_session_was_ended_is_back_once_it_has_registered_again() -> None:
    # Sessions of several brokers are ended one after another; the first may be back before the last one ends.
    expired = Deed(1, Action.EXPIRE, span(10, 10.1), span(10.2, 10.3))
    known = znodes((1, 1, 0, (1, 2)), ends=(10.01,))
    known.registrations.append(Registration(1, 12, at(10.05)))
    (departure,) = truth_of(measured(expired, known)).departures
    assert departure.returned == span(10.05, 10.3)
    late = znodes((1, 1, 0, (1, 2)), ends=(10.01,))
    late.registrations.append(Registration(1, 12, at(10.25)))
    (departure,) = truth_of(measured(expired, late)).departures
    assert departure.returned == span(10.2, 10.3)


def test_a_broker_whose_directory_is_gone_leads_nothing_when_it_is_elected() -> None:
    # Broker 3 hands its partition over to broker 1, whose directory is gone; it leads once it has restarted.
    stops = [Deed(3, Action.STOP, span(10, 11), None), Deed(1, Action.STOP, span(11, 12), span(14, 15))]
    known = znodes(
        (1, 3, 0, (3, 1)), (10.1, 1, 1, (1,)), (10.2, -1, 2, (1,)), (15.1, 1, 3, (1,)), ends=(11.9,)
    )
    known.registrations.append(Registration(1, 12, at(14.9)))
    disk = FailedDisk(1, span(9, 11.9), ("a-0",))
    led = {(1, "a-0"): [Answer(15.2, 15.3, led=True)]}
    truth = truth_of(Measured(WINDOW, stops, known, led, ["a-0"], SESSION, 2, [disk]))
    assert truth.leaderless == (
        Leaderless("a-0", 1, span(10.1, 10.2), 1, span(15.1, 15.3)),
        Leaderless("a-0", 3, span(10.1, 10.2), 1, span(15.1, 15.3), is_due=False),
    )


def test_a_follower_that_leaves_the_isr_makes_no_leader_of_a_broker_without_its_directory() -> None:
    stops = [Deed(3, Action.STOP, span(10, 11), None), Deed(1, Action.STOP, span(11, 12), span(14, 15))]
    states = (1, 3, 0, (3, 1, 2)), (10.1, 1, 1, (1, 2)), (10.15, 1, 2, (1,)), (10.2, -1, 3, (1,))
    known = znodes(*states, (15.1, 1, 4, (1,)), ends=(11.9,))
    known.registrations.append(Registration(1, 12, at(14.9)))
    disk = FailedDisk(1, span(9, 11.9), ("a-0",))
    led = {(1, "a-0"): [Answer(15.2, 15.3, led=True)]}
    truth = truth_of(Measured(WINDOW, stops, known, led, ["a-0"], SESSION, 2, [disk]))
    assert Leaderless("a-0", 1, span(10.1, 10.15), 1, span(15.1, 15.3)) in truth.leaderless


def test_a_broker_that_is_elected_as_its_session_is_ended_may_lose_its_leader_at_once() -> None:
    expired = [Deed(broker, Action.EXPIRE, span(10, 10.1), span(10.2, 10.3)) for broker in (1, 2)]
    known = znodes((1, 1, 0, (1, 2, 3)), (10.09, 2, 1, (2, 3)), (10.12, 3, 2, (3,)), ends=(10.01,))
    known.registrations.append(Registration(2, 11, at(-1), at(10.05)))
    known.registrations.extend([Registration(1, 12, at(10.2)), Registration(2, 13, at(10.2))])
    truth = truth_of(Measured(WINDOW, expired, known, {}, ["a-0"], SESSION, 2))
    assert [(each.leader_before, each.leader_after, each.is_due) for each in truth.leaderless] == [
        (1, 3, True),
        (1, 2, False),
        (2, 3, False),
        (2, 3, False),
    ]


def test_a_broker_without_a_session_may_lose_what_it_was_elected_to_lead_meanwhile() -> None:
    expired = Deed(1, Action.EXPIRE, span(10, 10.1), span(10.2, 10.3))
    known = znodes(
        (1, 2, 0, (2, 1)), (10.15, 1, 1, (1,)), (10.25, 1, 1, (1, 2)), (10.4, 2, 2, (2,)), ends=(10.05,)
    )
    known.registrations.append(Registration(1, 12, at(10.2)))
    truth = truth_of(measured(expired, known, b2=Answer(10.5, 10.6, led=True)))
    assert truth.leaderless == (Leaderless("a-0", 1, span(10.25, 10.4), 2, span(10.4, 10.6), is_due=False),)
