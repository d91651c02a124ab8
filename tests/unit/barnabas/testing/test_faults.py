"""The conditions of ways that a fault of the network changes."""

from dataclasses import replace

import pytest

from barnabas.local.links import HEALTHY, Condition
from barnabas.testing.faults import describe, disturbed


def cut(was):
    return replace(was, is_cut=True)


def test_disturbed_changes_both_ways_to_each_other_node():
    ways = disturbed({}, 1, [2, "zookeeper"], cut, one_way=False)
    gone = Condition(is_cut=True)
    assert ways == {
        ("1", "2"): gone,
        ("2", "1"): gone,
        ("1", "zookeeper"): gone,
        ("zookeeper", "1"): gone,
    }


def test_disturbed_changes_one_way_only():
    assert disturbed({}, "clients", [3], cut, one_way=True) == {("clients", "3"): Condition(is_cut=True)}


def test_disturbed_leaves_alone_what_the_fault_does_not_concern():
    slow = Condition(delay_s=0.5)
    ways = disturbed({("1", "2"): slow}, 1, [2], cut, one_way=False)
    assert ways == {("1", "2"): Condition(is_cut=True, delay_s=0.5), ("2", "1"): Condition(is_cut=True)}


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (HEALTHY, ""),
        (Condition(is_cut=True), "cut"),
        (Condition(is_refused=True), "refused"),
        (Condition(delay_s=0.25, bytes_per_second=1000), "250 ms later, 1000 bytes a second"),
    ],
)
def test_describe_names_each_part_of_a_condition(condition, said):
    assert describe(condition) == said
