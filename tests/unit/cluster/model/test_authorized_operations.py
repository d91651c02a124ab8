from __future__ import annotations

import pytest

from barnabas.cluster.model.authorized_operations import ResourceKind, authorized_operations


@pytest.mark.parametrize(
    ("kind", "bits"), [(ResourceKind.TOPIC, 3576), (ResourceKind.GROUP, 328), (ResourceKind.CLUSTER, 8096)]
)
def test_everybody_may_do_everything(kind, bits):
    assert authorized_operations(kind, is_asked=True) == bits
    assert authorized_operations(kind, is_asked=False) == -2147483648
