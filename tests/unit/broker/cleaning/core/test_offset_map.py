from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.cleaning.core.offset_map import ENTRY_SIZE, UNKNOWN, OffsetMap

KEYS = st.binary(max_size=3)


@given(st.lists(st.tuples(KEYS, st.integers(0, 2**62))), st.integers(2, 40))
def test_it_is_a_dictionary_as_far_as_there_is_room(puts, slots):
    offsets, twin = OffsetMap(bytearray(slots * ENTRY_SIZE + 5), 0.9), {}
    for key, offset in puts:
        if len(offsets) < offsets.capacity or key in twin:
            offsets.put(key, offset)
            twin[key] = offsets.latest_offset
    assert len(offsets) == len(twin) <= offsets.capacity < slots
    assert offsets.utilization == len(twin) / slots
    assert all(offsets.get(key) == offset for key, offset in twin.items())
    assert offsets.get(b"none of them") == UNKNOWN


def test_a_map_of_128_mib_holds_as_many_keys_as_kafkas():
    assert int(134217728 // ENTRY_SIZE * 0.9) == 5033164
