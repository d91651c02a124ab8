"""The admin client of the page and the tools while no broker answers."""

import threading

import pytest
from kafka.errors import KafkaError

from barnabas.local.kafka_admin import KafkaAdmin


def test_a_client_that_cannot_be_made_leaves_no_thread_behind():
    before = set(threading.enumerate())
    with pytest.raises(KafkaError):
        KafkaAdmin(bootstrap_servers=["127.0.0.1:1"], bootstrap_timeout_ms=100)
    assert set(threading.enumerate()) == before


def test_a_setting_that_does_not_exist_is_an_error():
    with pytest.raises(KafkaError, match="colour"):
        KafkaAdmin(colour="red")
