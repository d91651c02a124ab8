from __future__ import annotations

from broker.replicas.turn import Turn


async def test_a_long_turn_ends():
    turn = Turn()
    turn._until = 0
    await turn.yield_if_long()
    assert turn._until > 0
