"""Every served API and version: with exactly the needed grants, without, with another's, and denied."""

from __future__ import annotations

import dataclasses
from itertools import product

import pytest

from barnabas.broker.server.gates.table import GATES, OPEN, guarded
from barnabas.broker.server.network.registry import HANDLERS
from barnabas.broker.wire.apis import ApiKey
from barnabas.broker.wire.frames import encode
from tests.unit.broker.server.gates.asking import ask, codes, context_with, handler_of
from tests.unit.broker.server.gates.rows import (
    CASES,
    FILTERED,
    GROUP,
    NEEDS_NOTHING,
    OP,
    ROWS,
    TOPIC,
    C,
    T,
    request_of,
)

ROW = ("key", "version", "values", "needs", "error")


def test_every_served_api_is_in_the_table():
    assert {key for key, *_ in ROWS} | set(NEEDS_NOTHING) == set(HANDLERS)
    assert not {key for key, *_ in ROWS} & set(NEEDS_NOTHING)
    assert all(error is None for key, *_, error in ROWS if key in FILTERED)


def test_every_served_api_is_gated_but_for_those_that_need_nothing_and_fetch():
    assert set(NEEDS_NOTHING) | {ApiKey.FETCH} == OPEN
    assert set(GATES) == set(HANDLERS) - OPEN
    with pytest.raises(KeyError):
        guarded({-1: None})


async def refused(context, key, version, values, error):
    """Ask in a context without what is needed: there is the error, no data, and nothing gets through."""
    handler = handler_of(key)
    answer = await ask(context, request_of(key, version, values), handler)
    assert handler.names == []
    encode(7, answer)
    has_code = error is not None and "error_code" in repr(answer)
    assert codes(answer) - {0} == ({error} if has_code else set())
    if key in FILTERED:
        assert not FILTERED[key][1](answer)


@pytest.mark.parametrize(ROW, CASES)
async def test_without_a_grant_there_is_the_error_and_the_handler_learns_nothing(
    key, version, values, needs, error
):
    await refused(await context_with(), key, version, values, error)


@pytest.mark.parametrize(ROW, CASES)
async def test_the_grants_of_another_user_are_as_none(key, version, values, needs, error):
    await refused(await context_with(*needs, to="User:mallory"), key, version, values, error)


@pytest.mark.parametrize(ROW, CASES)
async def test_what_is_denied_is_denied_in_spite_of_the_grants(key, version, values, needs, error):
    await refused(await context_with(*needs, denied=needs), key, version, values, error)


@pytest.mark.parametrize(ROW, CASES)
async def test_exactly_the_needed_grants_are_enough(key, version, values, needs, error):
    handler, request = handler_of(key), request_of(key, version, values)
    answer = await ask(await context_with(*needs), request, handler)
    assert codes(answer) <= {0}
    (body,) = handler.bodies
    # A Metadata request that needs to create nothing may create nothing.
    assert dataclasses.replace(body, **_creates(request.body)) == request.body
    if key in FILTERED:
        assert FILTERED[key][1](answer)


def _creates(body):
    name = "allow_auto_topic_creation"
    return {name: getattr(body, name)} if hasattr(body, name) else {}


@pytest.mark.parametrize(ROW, [case for case in CASES if len(case.values[3]) > 1])
async def test_one_of_several_needed_grants_is_not_enough(key, version, values, needs, error):
    for lacking, denied in product(needs, [False, True]):
        if lacking == (OP.DESCRIBE_CONFIGS, T):
            continue  # hides settings of created topics only
        handler = handler_of(key)
        rest = [each for each in needs if denied or each != lacking]
        context = await context_with(*rest, denied=[lacking] if denied else [])
        answer = await ask(context, request_of(key, version, values), handler)
        assert codes(answer) - {0} == {TOPIC if lacking[1] in (T, C) else GROUP}
        assert all("'secret'" not in repr(getattr(body, "topics", ())) for body in handler.bodies)
