import uuid

import pytest

from barnabas.broker.wire.fields import FORMATS, SIZES, not_none


@pytest.mark.parametrize(
    ("kind", "size"),
    [("bool", 1), ("int16", 2), ("error_code", 2), ("int32", 4), ("float64", 8), ("uuid", 16)],
)
def test_the_size_is_that_of_kafkas_protocol(kind, size):
    assert SIZES[kind] == size


def test_every_format_has_a_size():
    assert SIZES.keys() == FORMATS.keys()
    assert len(uuid.UUID(int=0).bytes) == SIZES["uuid"]


@pytest.mark.parametrize(
    ("kind", "bare"), [(int, int), (int | None, int), (tuple[str, ...] | None, tuple[str, ...])]
)
def test_a_type_without_its_none(kind, bare):
    assert not_none(kind) == bare
