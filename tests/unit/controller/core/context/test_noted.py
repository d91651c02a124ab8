from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.controller.core.context.noted import NotedDict

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
@settings(max_examples=100)
def test_it_is_a_dictionary_that_misses_no_change(before, after):
    noted, plain = NotedDict(), {}
    for step in before:
        walk(noted, plain, *step)
    noted.take_changed()
    old = dict(plain)
    for step in after:
        walk(noted, plain, *step)
    assert noted == plain
    differing = {key for key in "abcd" if old.get(key) is not plain.get(key)}
    assert differing <= noted.take_changed()
    assert noted.take_changed() == set()


def walk(noted, plain, kind, which):
    value = object()
    match kind:
        case "set":
            noted[which] = plain[which] = value
        case "del" if which in plain:
            del noted[which], plain[which]
        case "pop":
            assert noted.pop(which, None) is plain.pop(which, None)
        case "update":
            noted.update(dict.fromkeys(which, value))
            plain.update(dict.fromkeys(which, value))
        case "pairs":
            noted.update((each, value) for each in which)
            plain.update((each, value) for each in which)
        case "clear":
            noted.clear()
            plain.clear()


def test_a_key_can_be_noted_for_what_belongs_to_its_value():
    noted = NotedDict()
    noted.note("a")
    assert noted.take_changed() == {"a"}
    assert noted == {}


def test_what_would_change_it_unnoted_is_refused():
    noted = NotedDict()
    with pytest.raises(TypeError, match="by item"):
        noted.setdefault("a", 1)
    with pytest.raises(TypeError, match="by item"):
        noted |= {"a": 1}
    with pytest.raises(TypeError, match="by item"):
        noted.popitem()
