"""Releases compare as people mean them."""

from __future__ import annotations

import pytest

from barnabas.cluster.model.statechange.levels import Level, is_between, release, spell_releases


def test_levels_are_ordered_as_log4j_orders_them() -> None:
    assert Level.TRACE < Level.DEBUG < Level.INFO < Level.WARN < Level.ERROR


@pytest.mark.parametrize(
    ("moment", "since", "until", "expected"),
    [
        ("2.8", "2.6", None, True),
        ("2.8", "2.6", "2.7", False),
        ("2.5.1", "1.0", "2.5", True),
        ("2.6", "1.0", "2.5", False),
        ("0.9", "0.10", None, False),
        ("0.10.1", "0.9", "0.11", True),
    ],
)
def test_a_bound_takes_in_its_patch_releases(
    moment: str, since: str, until: str | None, expected: bool
) -> None:
    assert is_between(release(moment), release(since), release(until) if until else None) is expected


def test_a_release_is_numbers() -> None:
    with pytest.raises(ValueError, match="trunk"):
        release("trunk")


@pytest.mark.parametrize(
    ("since", "until", "text"),
    [((2, 6), None, "2.6+"), ((0, 8), (1, 0), "0.8 to 1.0"), ((0, 8, 0), (0, 8, 0), "0.8.0")],
)
def test_a_range_of_releases_is_described(
    since: tuple[int, ...], until: tuple[int, ...] | None, text: str
) -> None:
    assert spell_releases(since, until) == text
