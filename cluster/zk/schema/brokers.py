"""The bodies of ``/controller``, ``/controller_epoch``, ``/brokers/ids/<id>`` and the controller's record."""

from __future__ import annotations

import re
from dataclasses import dataclass

from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.controllership import ControllerRecord
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.body import INT32_MAX, Body, ZnodeDecodeError, encode_json

BROKER_VERSION = 4
"""The version of registrations with IBP 0.10.0-IV1 to 2.6; version 5 adds ``features``."""

MAXIMUM_PORT = 65535

_LOG_DIR_LOCKS = "log_dir_locks"

_ENDPOINT = re.compile(
    r"(?P<listener>[^:/]+)://(?:\[(?P<v6>[^\]]+)\]|(?P<host>[^:\[\]]*)):(?P<port>[0-9]{1,5})"
)


@dataclass(frozen=True, slots=True)
class ControllerRegistration:
    """The content of ``/controller``.

    Attributes:
        broker: The broker that runs the controller.
        timestamp_ms: The time of its election, in milliseconds since 1970.
    """

    broker: BrokerId
    timestamp_ms: int


def encode_controller(registration: ControllerRegistration) -> bytes:
    """Encode ``/controller``, version 1 (releases before 3.4)."""
    timestamp = str(registration.timestamp_ms)
    return encode_json({"version": 1, "brokerid": registration.broker, "timestamp": timestamp})


def decode_controller(content: bytes) -> ControllerRegistration:
    """Decode ``/controller`` of version 1, or 2 (which adds ``kraftControllerEpoch``)."""
    body = Body(paths.CONTROLLER, content)
    return ControllerRegistration(BrokerId(body.int32("brokerid", least=-1)), body.integer("timestamp"))


def encode_controller_epoch(epoch: ControllerEpoch) -> bytes:
    """Encode ``/controller_epoch`` as decimal digits."""
    return str(epoch).encode()


def decode_controller_epoch(content: bytes) -> ControllerEpoch:
    """Decode ``/controller_epoch``."""
    epoch = int(content) if re.fullmatch(rb"\d{1,10}", content) else None
    if epoch is None or epoch > INT32_MAX:
        raise ZnodeDecodeError(paths.CONTROLLER_EPOCH, content, f"a decimal number up to {INT32_MAX}")
    return ControllerEpoch(epoch)


def encode_controller_record(record: ControllerRecord) -> bytes:
    """Encode ``/barnabas/controller``, version 1."""
    epochs = {str(broker): epoch for broker, epoch in record.broker_epochs.items()}
    return encode_json({"version": 1, "controller_epoch": record.epoch, "broker_epochs": epochs})


def decode_controller_record(content: bytes) -> ControllerRecord:
    """Decode ``/barnabas/controller``."""
    body = Body(paths.CONTROLLER_RECORD, content)
    epochs = {
        BrokerId(broker): BrokerEpoch(epoch) for broker, epoch in body.int64s_by_id("broker_epochs").items()
    }
    return ControllerRecord(ControllerEpoch(body.int32("controller_epoch")), epochs)


def encode_broker(
    endpoints: tuple[Endpoint, ...],
    rack: str | None,
    timestamp_ms: int,
    jmx_port: int = -1,
    log_dir_locks: frozenset[str] = frozenset(),
) -> bytes:
    """Encode a registration of version 4; ``host`` and ``port`` are those of the first PLAINTEXT endpoint.

    The field ``log_dir_locks`` is ours. Kafka ignores fields that it does not know
    (``BrokerIdZNode.decode``).
    """
    plaintext = next((e for e in endpoints if e.security_protocol == "PLAINTEXT"), None)
    fields: dict[str, object] = {
        "listener_security_protocol_map": {e.listener: e.security_protocol for e in endpoints},
        "endpoints": [encode_endpoint(e) for e in endpoints],
        "jmx_port": jmx_port,
        "port": plaintext.port if plaintext else -1,
        "host": plaintext.host if plaintext else None,
        "version": BROKER_VERSION,
        "timestamp": str(timestamp_ms),
    }
    if rack is not None:
        fields["rack"] = rack
    if log_dir_locks:
        fields[_LOG_DIR_LOCKS] = sorted(log_dir_locks)
    return encode_json(fields)


def decode_broker(broker_id: BrokerId, content: bytes, epoch: BrokerEpoch) -> Broker:
    """Decode a registration of version 1 to 5.

    Args:
        broker_id: The last part of the path.
        content: The body.
        epoch: The czxid of the znode.
    """
    body = Body(paths.broker(broker_id), content)
    if body.version == 1:
        port = body.int32("port", most=MAXIMUM_PORT)
        endpoints: tuple[Endpoint, ...] = (Endpoint("PLAINTEXT", body.text("host"), port),)
    else:
        known = "listener_security_protocol_map"
        protocols = body.text_map(known) if body.has(known) else {}
        endpoints = tuple(_decode_endpoint(body, text, protocols) for text in body.texts("endpoints"))
    return Broker(broker_id, epoch, endpoints, body.text("rack") if body.has("rack") else None)


def decode_log_dir_locks(broker_id: BrokerId, content: bytes) -> frozenset[str]:
    """Decode the locks of log directories that a registered process holds.

    Empty for Kafka's registrations.
    """
    body = Body(paths.broker(broker_id), content)
    return frozenset(body.texts(_LOG_DIR_LOCKS)) if body.has(_LOG_DIR_LOCKS) else frozenset()


def encode_endpoint(endpoint: Endpoint) -> str:
    """Format an endpoint as ``LISTENER://host:port``, with an IPv6 address in brackets."""
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"{endpoint.listener}://{host}:{endpoint.port}"


def _decode_endpoint(body: Body, text: str, protocols: dict[str, str]) -> Endpoint:
    """Decode one of ``endpoints``; before version 4 a listener's name was its security protocol."""
    match = _ENDPOINT.fullmatch(text)
    if match is None or int(match["port"]) > MAXIMUM_PORT:
        raise body.error("LISTENER://host:port in field 'endpoints'")
    listener = match["listener"]
    return Endpoint(
        listener, match["v6"] or match["host"] or "", int(match["port"]), protocols.get(listener, listener)
    )
