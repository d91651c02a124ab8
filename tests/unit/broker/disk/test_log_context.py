from __future__ import annotations

from barnabas.broker.disk.log_context import LogContext
from barnabas.cluster.model.configs_broker import BROKER_CONFIGS


def test_producers_expire_by_default_as_the_table_of_configs_says(tmp_path):
    context = LogContext(tmp_path, None, lambda: 0, *[print] * 7)
    assert context.producer_expiration_ms == BROKER_CONFIGS["transactional.id.expiration.ms"].default
