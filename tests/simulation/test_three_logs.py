"""The model's invariants once more, on the broker's own logs and replica code."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from barnabas.cluster.model.ids import BrokerId
from barnabas.controller.core.context.controller_context import ControllerContext, Facts
from barnabas.controller.core.protocol.inputs import Startup


def test_nothing_acknowledged_is_lost_and_the_logs_agree(three_logs):
    run_state_machine_as_test(
        three_logs.ThreeLogs,
        settings=settings(
            max_examples=15,
            stateful_step_count=40,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )


@pytest.fixture
def machine(three_logs):
    machine = three_logs.ThreeLogs()
    yield machine
    machine.acknowledged.clear()  # of what all disks have lost, acknowledged or not, nothing is expected
    machine.waiting.clear()
    machine.teardown()


def lose_all_but_the_first_batch(node: Any) -> None:
    """What a power cut leaves where the rest of the pages were never written to the disk."""
    (log,) = (node.directory / "t-0").glob("*.log")
    content = log.read_bytes()
    log.write_bytes(content[: len(content) // 3])
    for other in (node.directory / "t-0").glob("*.snapshot"):
        other.unlink()


def test_a_power_cut_that_no_controller_saw_leaves_the_logs_equal(machine, world_module, three_logs):
    """The leader comes back with [1], its followers with [1, 2, 3], and takes three records before they ask.

    In its old leader epoch they would go on at offset 3: [1, 4, 5, 6] there, [1, 2, 3, 6] here, all in sync.
    """
    machine.begin()
    for _ in range(3):
        machine.produce()
    for follower in (2, 3, 2, 3):
        machine.fetch(follower, 10_000)
    nodes = machine.nodes.values()
    assert [len(node.records()) for node in nodes] == [3, 3, 3]

    for node in nodes:
        machine.run(node.stop, clean=False)
    lose_all_but_the_first_batch(machine.nodes[1])
    for node in nodes:
        machine.run(node.start)
    world = world_module.World(ControllerContext(Facts(BrokerId(2))))
    world.register(1, 2, 3)
    world.settle()
    world.remove(1, 2, 3)
    world.register(1, 2, 3)
    world.write_topic("t", (1, 2, 3))
    world.states[three_logs.TP] = machine.register
    world.epoch = 1
    world.run(Startup())
    machine.register = world.states[three_logs.TP]

    machine.hear(1)
    for _ in range(3):
        machine.produce()
    machine.hear(2)
    machine.hear(3)
    for follower in (2, 3) * 4:
        machine.fetch(follower, 10_000)
    values = [[value for _, value in node.records()] for node in nodes]
    assert values == [[1, 4, 5, 6]] * 3


@pytest.mark.parametrize(("late", "emptied"), [(1, 2), (2, 1), (None, 1), (3, 2)])
def test_a_disk_that_was_lost_in_an_outage_erases_nobody(machine, late, emptied):
    """The state is as it was created, which a new controller took for a sign that nobody had a log yet."""
    machine.begin()
    for _ in range(3):
        machine.produce()
    for follower in (2, 3, 2, 3):
        machine.fetch(follower, 10_000)
    machine.what_is_acknowledged_is_on_every_in_sync_replica()
    assert len(machine.acknowledged) == 3
    machine.outage(late=late, emptied=emptied)
    machine.heal()
    machine.what_is_acknowledged_is_on_every_in_sync_replica()
