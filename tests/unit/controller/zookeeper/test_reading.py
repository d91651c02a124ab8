from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.controller.zookeeper.reading import read_readable


@given(st.lists(st.integers(0, 30), unique=True), st.sets(st.integers(0, 30), max_size=4))
async def test_the_readable_are_read_whatever_is_spoiled(keys, spoiled):
    calls = 0

    async def read(some):
        nonlocal calls
        calls += 1
        for key in some:
            if key in spoiled:
                raise ZnodeDecodeError(f"/{key}", b"?", "JSON")
        return {key: str(key) for key in some}

    assert await read_readable(read, keys) == {key: str(key) for key in keys if key not in spoiled}
    if not keys:
        assert calls == 0
    elif not spoiled & set(keys):
        assert calls == 1
