"""The topics of a subscription of any version, and of bytes that are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.group.subscription import subscribed_topics
from barnabas.cluster.model.steps import at_once

TOPICS = st.lists(st.text(max_size=5).filter(lambda text: len(text.encode()) < 100), max_size=4)


def encoded(version, topics, rest=b""):
    parts = [version.to_bytes(2, signed=True), len(topics).to_bytes(4)]
    parts += [len(topic.encode()).to_bytes(2) + topic.encode() for topic in topics]
    return b"".join(parts) + rest


@given(st.integers(0, 3), TOPICS, st.binary(max_size=8))
def test_topics_are_read_from_any_version(version, topics, rest):
    assert at_once(subscribed_topics([encoded(version, topics, rest)])) == set(topics)


@given(TOPICS.filter(any), st.data())
def test_a_subscription_that_is_cut_off_names_none(topics, data):
    whole = encoded(0, topics)
    assert at_once(subscribed_topics([whole[: data.draw(st.integers(0, len(whole) - 1))]])) is None


@pytest.mark.parametrize(
    "metadata",
    [
        b"",
        encoded(-1, ["t"]),
        b"\0\0\xff\xff\xff\xff",
        b"\0\0\0\0\0\1\xff\xff",
        b"\0\0\x7f\xff\xff\xff",
        b"\0\0\0\0\0\1\0\2\xff\xfe",
    ],
)
def test_bytes_that_are_no_subscription_name_none(metadata):
    assert at_once(subscribed_topics([metadata])) is None
