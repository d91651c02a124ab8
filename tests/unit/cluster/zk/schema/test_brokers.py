from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.controllership import ControllerRecord
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.schema.brokers import (
    ControllerRegistration,
    decode_broker,
    decode_controller,
    decode_controller_epoch,
    decode_controller_record,
    decode_log_dir_locks,
    encode_broker,
    encode_controller,
    encode_controller_epoch,
    encode_controller_record,
)

ONE = BrokerId(1)
EPOCH = BrokerEpoch(42)


def test_the_controller_as_kafka_writes_it() -> None:
    registration = ControllerRegistration(ONE, 1690000000000)
    body = b'{"version":1,"brokerid":1,"timestamp":"1690000000000"}'
    assert encode_controller(registration) == body
    assert decode_controller(body) == registration
    later = b'{"version":2,"brokerid":1,"timestamp":"1690000000000","kraftControllerEpoch":-1}'
    assert decode_controller(later) == registration


def test_the_controller_epoch_is_bare_digits() -> None:
    assert encode_controller_epoch(ControllerEpoch(7)) == b"7"
    assert decode_controller_epoch(b"7") == 7
    for content in (b"", b"x", b"7\n", b"-1", b'{"version":1}', b"2147483648", b"9" * 5000):
        with pytest.raises(ZnodeDecodeError, match=r"/controller_epoch holds .*, expected a decimal number"):
            decode_controller_epoch(content)


def test_the_record_comes_back_as_it_was_written() -> None:
    record = ControllerRecord(ControllerEpoch(7), {ONE: BrokerEpoch(2**62)})
    assert decode_controller_record(encode_controller_record(record)) == record


@pytest.mark.parametrize("epochs", ['{"1":-1}', '{"x":1}', '{"1":true}', '{"1":9223372036854775808}', "[]"])
def test_a_record_holds_broker_ids_and_numbers_of_64_bits(epochs: str) -> None:
    content = f'{{"version":1,"controller_epoch":7,"broker_epochs":{epochs}}}'.encode()
    with pytest.raises(
        ZnodeDecodeError, match="an object from broker ids to numbers in field 'broker_epochs'"
    ):
        decode_controller_record(content)


def test_a_broker_is_written_as_version_4() -> None:
    endpoints = Endpoint("PLAINTEXT", "h", 9092), Endpoint("GRPC", "h", 19092)
    assert json.loads(encode_broker(endpoints, "r1", 5)) == {
        "version": 4,
        "host": "h",
        "port": 9092,
        "jmx_port": -1,
        "timestamp": "5",
        "endpoints": ["PLAINTEXT://h:9092", "GRPC://h:19092"],
        "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT", "GRPC": "PLAINTEXT"},
        "rack": "r1",
    }
    assert "rack" not in json.loads(encode_broker(endpoints, None, 5))


def test_a_broker_without_plaintext_has_no_host_of_its_own() -> None:
    fields = json.loads(encode_broker((Endpoint("SECURE", "h", 9093, "SSL"),), None, 5, jmx_port=7))
    assert (fields["host"], fields["port"], fields["jmx_port"]) == (None, -1, 7)


def test_the_locks_of_a_process_stand_beside_what_kafka_knows() -> None:
    body = encode_broker(PLAINTEXT, None, 5, log_dir_locks=frozenset({"b", "a"}))
    assert json.loads(body)["log_dir_locks"] == ["a", "b"]
    assert decode_log_dir_locks(ONE, body) == {"a", "b"}
    assert decode_broker(ONE, body, EPOCH) == Broker(ONE, EPOCH, PLAINTEXT)
    assert decode_log_dir_locks(ONE, encode_broker(PLAINTEXT, None, 5)) == frozenset()
    with pytest.raises(ZnodeDecodeError):
        decode_log_dir_locks(ONE, b'{"version":4,"log_dir_locks":[7]}')


PLAINTEXT = (Endpoint("PLAINTEXT", "h", 9092),)


@pytest.mark.parametrize(
    ("body", "endpoints", "rack"),
    [
        ('{"version":1,"host":"h","port":9092,"jmx_port":-1,"timestamp":"5"}', PLAINTEXT, None),
        (
            (
                '{"version":2,"host":"h","port":9092,"jmx_port":-1,"timestamp":"5",'
                '"endpoints":["PLAINTEXT://h:9092","SSL://h:9093"]}'
            ),
            (*PLAINTEXT, Endpoint("SSL", "h", 9093, "SSL")),
            None,
        ),
        (
            (
                '{"version":3,"host":"h","port":9092,"jmx_port":-1,"timestamp":"5",'
                '"endpoints":["PLAINTEXT://h:9092"],"rack":"r1"}'
            ),
            PLAINTEXT,
            "r1",
        ),
        (
            (
                '{"version":4,"host":null,"port":-1,"jmx_port":-1,"timestamp":"5","endpoints":["IN://[::1]:1"],'
                '"listener_security_protocol_map":{"IN":"SASL_SSL"}}'
            ),
            (Endpoint("IN", "::1", 1, "SASL_SSL"),),
            None,
        ),
        (
            (
                '{"version":5,"host":"h","port":9092,"jmx_port":-1,"timestamp":"5","endpoints":["PLAINTEXT://:9092"],'
                '"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"rack":"r1",'
                '"features":{"f":{"min_version":1,"max_version":3}}}'
            ),
            (Endpoint("PLAINTEXT", "", 9092),),
            "r1",
        ),
    ],
)
def test_a_broker_of_every_version_is_read(
    body: str, endpoints: tuple[Endpoint, ...], rack: str | None
) -> None:
    assert decode_broker(ONE, body.encode(), EPOCH) == Broker(ONE, EPOCH, endpoints, rack)


@pytest.mark.parametrize(
    "endpoint",
    ["h:9092", "PLAINTEXT://h", "PLAINTEXT://h:x", "://h:1", "A://a:b:1", "A://a:65536", "A://a:-1"],
)
def test_a_malformed_endpoint_is_named(endpoint: str) -> None:
    with pytest.raises(ZnodeDecodeError, match=r"/brokers/ids/1 holds .* expected LISTENER://host:port"):
        decode_broker(ONE, json.dumps({"version": 4, "endpoints": [endpoint]}).encode(), EPOCH)


hosts = st.one_of(st.from_regex(r"[a-z0-9.-]{1,20}", fullmatch=True), st.ip_addresses().map(str))
protocols = st.sampled_from(["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"])
endpoint_tuples = st.lists(
    st.builds(
        Endpoint, st.from_regex(r"[A-Z_]{1,12}", fullmatch=True), hosts, st.integers(1, 65535), protocols
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda endpoint: endpoint.listener,
).map(tuple)


@given(endpoint_tuples, st.none() | st.text(min_size=1), st.integers(0, 2**62))
def test_a_broker_survives_the_round_trip(
    endpoints: tuple[Endpoint, ...], rack: str | None, now_ms: int
) -> None:
    assert decode_broker(ONE, encode_broker(endpoints, rack, now_ms), EPOCH) == Broker(
        ONE, EPOCH, endpoints, rack
    )
