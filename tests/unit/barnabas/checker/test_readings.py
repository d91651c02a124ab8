import pytest

from barnabas.checker.readings import Reading


def reading(*offsets, stop=None):
    found = Reading()
    for offset in offsets:
        found.take(offset, f"v{offset}")
    if stop is not None:
        found.stop(*stop)
    return found


def test_a_reading_of_everything_steps_from_offset_to_offset():
    found = reading(0, 1, 2, stop=(3, 3))
    assert (found.position, found.end, found.is_whole, found.is_finished, found.jumps) == (
        3,
        3,
        True,
        True,
        [],
    )
    assert found.values == {"v0", "v1", "v2"}


@pytest.mark.parametrize(
    ("offsets", "stop", "jumps"),
    [
        ((1,), (2, 2), [(0, 1)]),
        ((0, 2), (3, 3), [(1, 2)]),
        ((0, 1, 1), (2, 2), [(2, 1)]),
        ((0, 1, 0, 1), (2, 2), [(2, 0)]),
        ((0,), (4, 4), [(1, 4)]),
        ((), (0, 0), []),
    ],
)
def test_each_offset_that_is_not_the_next_is_a_jump(offsets, stop, jumps):
    assert reading(*offsets, stop=stop).jumps == jumps


def test_going_back_does_not_take_back_how_far_it_got():
    assert reading(0, 1, 2, 0).position == 3


def test_a_reading_is_complete_only_at_a_known_end():
    assert not reading(0).is_finished
    assert not reading(0, stop=(1, None)).is_finished
    assert not reading(0, stop=(1, 2)).is_finished
    assert reading(0, stop=(1, 1)).is_finished


@pytest.mark.parametrize(
    ("offset", "stop", "is_proven"),
    [
        (0, (1, None), True),
        (1, (1, None), False),
        (1, (1, 2), False),
        (1, (1, 1), True),
        (None, (1, 1), True),
        (None, (1, 2), False),
        (None, (1, None), False),
    ],
)
def test_a_record_is_proven_missing_behind_it_or_past_the_end(offset, stop, is_proven):
    assert reading(0, stop=stop).proves_missing(offset) == is_proven
