from __future__ import annotations

import pytest

from barnabas.cluster.model.acls import ResourceType
from barnabas.cluster.model.authorized_operations import authorized_operations


@pytest.mark.parametrize(
    ("kind", "bits"),
    [
        (ResourceType.TOPIC, 3576),
        (ResourceType.GROUP, 328),
        (ResourceType.CLUSTER, 8096),
        (ResourceType.TRANSACTIONAL_ID, 272),
        (ResourceType.DELEGATION_TOKEN, 256),
    ],
)
def test_everybody_may_do_everything(kind, bits):
    assert authorized_operations(kind, is_asked=True) == bits
    assert authorized_operations(kind, is_asked=False) == -2147483648
