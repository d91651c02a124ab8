from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.cluster.model.commands.configs import (
    AlterConfigs,
    AlterConfigsResult,
    ConfigAlteration,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
    IncrementalAlterConfigs,
    ResourceResult,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.rpc.commands import METHODS

names = st.text("abc.-_", max_size=4)
resources = st.builds(ConfigResource, st.sampled_from(ConfigResourceType), names)
alterations = st.builds(ConfigAlteration, names, st.sampled_from(ConfigOperation), names)
modest = settings(max_examples=40)


@given(
    st.dictionaries(resources, st.dictionaries(names, st.text(max_size=5), max_size=3), max_size=3),
    st.booleans(),
)
@modest
def test_alter_configs(wanted, validate_only):
    command, method = AlterConfigs(wanted, validate_only), METHODS[AlterConfigs]
    assert method.decode(method.encode(command, 1234)) == (command, 1234)


@given(
    st.dictionaries(resources, st.lists(alterations, max_size=3).map(tuple), max_size=3),
    st.booleans(),
)
@modest
def test_incremental_alter_configs(wanted, validate_only):
    command, method = IncrementalAlterConfigs(wanted, validate_only), METHODS[IncrementalAlterConfigs]
    assert method.decode(method.encode(command, 99)) == (command, 99)


@given(
    st.lists(
        st.builds(ResourceResult, resources, st.sampled_from(ErrorCode), st.none() | st.text()), max_size=3
    ).map(tuple),
    st.sampled_from([AlterConfigs, IncrementalAlterConfigs]),
)
@modest
def test_results(results, command):
    result, method = AlterConfigsResult(results), METHODS[command]
    assert method.decode_result(method.encode_result(result)) == result
