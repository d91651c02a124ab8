from __future__ import annotations

import dataclasses

import pytest

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr
from barnabas.controller.core import effects
from barnabas.controller.core.effects import Ask, Effect, InterruptedDecisionError, Interruption, ask

KINDS = [kind for kind in vars(effects).values() if isinstance(kind, type) and issubclass(kind, Effect)]


def test_an_answer_comes_back_to_whoever_asked():
    question = effects.ReadTopics()
    decision = ask(question)
    assert next(decision) is question
    with pytest.raises(StopIteration) as end:
        decision.send(frozenset({"t"}))
    assert end.value.value == {"t"}


@pytest.mark.parametrize("interruption", Interruption)
def test_an_interruption_is_raised_inside_the_decision(interruption):
    decision = ask(effects.ReadTopics())
    next(decision)
    with pytest.raises(InterruptedDecisionError) as raised:
        decision.send(interruption)
    assert raised.value.interruption is interruption
    assert str(raised.value) == interruption.value


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_effect_is_frozen_and_says_what_it_is(kind):
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen
    assert kind.__doc__


def test_every_write_shows_its_reign():
    writes = [
        kind
        for kind in KINDS
        if issubclass(kind, Ask) and kind.__name__.startswith(("Write", "Create", "Delete"))
    ]
    assert len(writes) == 4
    assert all("reign" in kind.__dataclass_fields__ for kind in writes)


def test_brokers_in_a_line_are_listed_and_nobody_is_called_none():
    assert effects.listed((1, 4)) == "1, 4"
    assert effects.listed(()) == "none"


def test_an_unclean_election_says_so():
    elected = LeaderAndIsr.initial(BrokerId(2), (BrokerId(2),))
    assert str(effects.LogElection(TopicPartition("t", 0), "S", elected, unclean=True)) == (
        "t-0: broker 2 elected uncleanly, from outside the ISR, by S in leader epoch 0, ISR 2"
    )
