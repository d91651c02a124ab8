from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.rpc import control_pb2 as pb
from cluster.rpc.framing import head, tag


@given(st.text(max_size=400))
@settings(max_examples=50)
def test_a_field_put_together_by_hand_is_the_field_that_protobuf_writes(listener):
    content = listener.encode()
    field = head(tag(pb.Endpoint.LISTENER_FIELD_NUMBER), len(content)) + content
    assert pb.Endpoint.FromString(field) == pb.Endpoint(listener=listener)
