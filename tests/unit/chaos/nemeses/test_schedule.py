from collections import Counter
from itertools import islice

import pytest

from barnabas.chaos.nemeses.schedule import BY_NAME, KINDS, Role, choose, schedule
from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.observe import ClusterView, PartitionView

VIEW = ClusterView(
    controller=2, partitions={TopicPartition("t", 0): PartitionView(leader=3, isr=(3, 1), replicas=(3, 1))}
)


def test_a_seed_is_a_schedule():
    assert list(islice(schedule(7), 60)) == list(islice(schedule(7), 60))
    assert list(islice(schedule(7), 60)) != list(islice(schedule(8), 60))


def test_the_first_round_meets_every_nemesis_once_and_alone():
    first = list(islice(schedule(3), len(KINDS)))
    assert Counter(step.kinds for step in first) == Counter((kind,) for kind in KINDS)
    assert [step.number for step in first] == list(range(1, len(KINDS) + 1))


def test_later_rounds_have_pairs():
    steps = list(islice(schedule(3), 4 * len(KINDS)))
    pairs = [step for step in steps if len(step.kinds) == 2]
    assert pairs
    assert all(len(step.dice) == len(step.kinds) for step in steps)
    assert pairs[0].name == "+".join(kind.name for kind in pairs[0].kinds)


@pytest.mark.parametrize("seed", range(20))
def test_a_cut_is_among_the_first_three_steps(seed):
    assert any(step.kinds[0].is_cut for step in islice(schedule(seed), 3))


def test_of_three_copies_one_is_gone_at_a_time():
    steps = islice(schedule(11), 20 * len(KINDS))
    pairs = [step.kinds for step in steps if len(step.kinds) == 2 and any(k.takes_copies for k in step.kinds)]
    assert pairs
    for one, other in pairs:
        assert Role.NOBODY in {kind.role for kind in (one, other) if not kind.takes_copies}
        assert not (one.takes_copies and other.takes_copies)


def test_without_cuts_among_the_kinds_there_are_none():
    kinds = (BY_NAME["kill-any"], BY_NAME["lossy-links"])
    steps = list(islice(schedule(1, kinds), 10))
    assert not any(kind.is_cut for step in steps for kind in step.kinds)


def test_each_step_lasts_as_its_kinds_say():
    for step in islice(schedule(5), 100):
        assert any(kind.hold_s[0] <= step.hold_s <= kind.hold_s[1] for kind in step.kinds)


def test_names_are_names():
    assert len(BY_NAME) == len(KINDS)
    assert {kind.name for kind in KINDS if kind.is_cut} >= {"cut-off", "partition-one-way"}


@pytest.mark.parametrize(
    ("role", "standing", "victims"),
    [
        (Role.CONTROLLER, (1, 2, 3), {2}),
        (Role.LEADER, (1, 2, 3), {3}),
        (Role.ALL, (1, 2, 3), {1, 2, 3}),
        (Role.NOBODY, (1, 2, 3), set()),
        (Role.ANY, (), set()),
        (Role.CONTROLLER, (1,), {1}),
        (Role.LEADER, (1,), {1}),
    ],
)
def test_a_role_is_who_plays_it_or_else_anybody(role, standing, victims):
    assert set(choose(role, 5, VIEW, standing)) == victims


def test_the_die_chooses_among_those_that_fit():
    chosen = {choose(Role.ANY, die, VIEW, (1, 2, 3)) for die in range(30)}
    assert chosen == {(1,), (2,), (3,)}
    assert {len(choose(Role.SEVERAL, die, VIEW, (1, 2, 3))) for die in range(30)} == {2}
