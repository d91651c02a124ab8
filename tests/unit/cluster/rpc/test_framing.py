from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.cluster.rpc import control_pb2 as pb
from barnabas.cluster.rpc import framing
from barnabas.cluster.rpc.framing import Heads, Int32Field, PackedInt32Field, head, tag

int32s = st.integers(-(2**31), 2**31 - 1) | st.integers(-2, 300)
too_large = st.integers(max_value=-(2**31) - 1) | st.integers(min_value=2**31)
modest = settings(max_examples=60)


@given(st.text(max_size=400))
@modest
def test_a_field_put_together_by_hand_is_the_field_that_protobuf_writes(listener):
    content = listener.encode()
    field = head(tag(pb.Endpoint.LISTENER_FIELD_NUMBER), len(content)) + content
    assert pb.Endpoint.FromString(field) == pb.Endpoint(listener=listener)


@given(st.integers(0, 100_000))
@modest
def test_the_head_by_size_is_the_head(size):
    heads = Heads(7)
    assert [heads[size], heads[size]] == [head(tag(7), size)] * 2


@given(int32s)
@modest
def test_a_number_is_encoded_as_protobuf_encodes_it(number):
    ports = Int32Field(pb.Endpoint.PORT_FIELD_NUMBER)
    assert [ports[number], ports[number]] == [pb.Endpoint(port=number).SerializeToString()] * 2


@given(st.lists(int32s, max_size=30).map(tuple))
@modest
def test_numbers_are_encoded_as_protobuf_encodes_them(numbers):
    replicas = PackedInt32Field(pb.Replicas.BROKER_IDS_FIELD_NUMBER)
    whole = pb.Replicas(broker_ids=numbers).SerializeToString()
    assert [replicas[numbers], replicas[numbers]] == [whole] * 2


@given(too_large)
@modest
def test_a_number_that_its_field_cannot_hold_is_refused_each_time(number):
    ports, replicas = Int32Field(1), PackedInt32Field(1)
    for _ in range(2):
        with pytest.raises(ValueError, match="expected a number of 32 bits"):
            ports[number]
        with pytest.raises(ValueError, match="expected a number of 32 bits"):
            replicas[1, number]


def test_what_is_too_many_to_remember_is_encoded_all_the_same(monkeypatch):
    monkeypatch.setattr(framing, "REMEMBERED", 2)
    ports, replicas, heads = Int32Field(1), PackedInt32Field(1), Heads(1)
    for number in range(1, 6):
        assert ports[number] == bytes([tag(1, framing.VARINT), number])
        assert replicas[number,] == bytes([tag(1), 1, number])
        assert heads[number] == head(tag(1), number)
    assert len(ports) == len(replicas) == len(heads) == 2
