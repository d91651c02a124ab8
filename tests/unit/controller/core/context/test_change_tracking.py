from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.controller.core.context.change_tracking import ChangeTrackingDict

keys = st.sampled_from("abcd")
steps = st.lists(
    st.one_of(
        st.tuples(st.just("set"), keys),
        st.tuples(st.just("del"), keys),
        st.tuples(st.just("pop"), keys),
        st.tuples(st.just("update"), st.frozensets(keys)),
        st.tuples(st.just("pairs"), st.frozensets(keys)),
        st.tuples(st.just("clear"), st.none()),
    ),
    max_size=8,
)


@given(steps, steps)
def test_it_is_a_dictionary_that_misses_no_change(before, after):
    tracked, plain = ChangeTrackingDict(), {}
    for step in before:
        walk(tracked, plain, *step)
    tracked.take_changed()
    old = dict(plain)
    for step in after:
        walk(tracked, plain, *step)
    assert tracked == plain
    differing = {key for key in "abcd" if old.get(key) is not plain.get(key)}
    assert differing <= tracked.take_changed()
    assert tracked.take_changed() == set()


def walk(tracked, plain, kind, which):
    value = object()
    match kind:
        case "set":
            tracked[which] = plain[which] = value
        case "del" if which in plain:
            del tracked[which], plain[which]
        case "pop":
            assert tracked.pop(which, None) is plain.pop(which, None)
        case "update":
            tracked.update(dict.fromkeys(which, value))
            plain.update(dict.fromkeys(which, value))
        case "pairs":
            tracked.update((each, value) for each in which)
            plain.update((each, value) for each in which)
        case "clear":
            tracked.clear()
            plain.clear()


def test_a_key_can_be_noted_for_what_belongs_to_its_value():
    tracked = ChangeTrackingDict()
    tracked.mark_changed("a")
    assert tracked.take_changed() == {"a"}
    assert tracked == {}


def test_what_would_change_it_unnoted_is_refused():
    tracked = ChangeTrackingDict()
    with pytest.raises(TypeError, match="by item"):
        tracked.setdefault("a", 1)
    with pytest.raises(TypeError, match="by item"):
        tracked |= {"a": 1}
    with pytest.raises(TypeError, match="by item"):
        tracked.popitem()
