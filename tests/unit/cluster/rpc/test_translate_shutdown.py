from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.cluster.model.commands.shutdown import ControlledShutdown, ControlledShutdownResult
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.rpc.commands import METHODS

METHOD = METHODS[ControlledShutdown]
modest = settings(max_examples=40)


@given(st.integers(0, 2**31 - 1), st.integers(-1, 2**63 - 1))
@modest
def test_controlled_shutdown(broker, epoch):
    command = ControlledShutdown(BrokerId(broker), BrokerEpoch(epoch))
    assert METHOD.decode(METHOD.encode(command, 1234)) == (command, 1234)


@given(st.lists(st.builds(TopicPartition, st.text("ab.-_", min_size=1), st.integers(0, 9)), max_size=5))
@modest
def test_what_remains(partitions):
    result = ControlledShutdownResult(tuple(partitions))
    assert METHOD.decode_result(METHOD.encode_result(result)) == result
