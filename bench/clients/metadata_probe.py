"""A Metadata request to a given broker; a client library would choose the broker itself."""

from __future__ import annotations

import io
import socket
import struct
from types import TracebackType
from typing import Self

from kio.schema.metadata.v9.request import MetadataRequest, MetadataRequestTopic
from kio.schema.metadata.v9.response import MetadataResponse
from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.response_header.v1.header import ResponseHeader
from kio.schema.types import TopicName
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32

_LENGTH = struct.Struct(">i")
_ANSWER_TIMEOUT_S = 30.0

_write_header, _write_request = entity_writer(RequestHeader), entity_writer(MetadataRequest)
_read_header, _read_response = entity_reader(ResponseHeader), entity_reader(MetadataResponse)


class MetadataProbe:
    """A connection to one broker; a context manager.

    Args:
        address: The broker's ``host:port``.
    """

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._connection = socket.create_connection((host, int(port)), timeout=_ANSWER_TIMEOUT_S)
        self._answers = self._connection.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._answers.close()
        self._connection.close()

    def leaders_known(self, topic: str) -> int:
        """Return the number of partitions of ``topic`` whose leader the broker knows.

        Raises:
            ConnectionError: The broker closed the connection.
        """
        self._connection.sendall(_frame(topic))
        length = self._answers.read(_LENGTH.size)
        if len(length) < _LENGTH.size:
            raise ConnectionError("the broker hung up, expected an answer to Metadata")
        answer = self._answers.read(*_LENGTH.unpack(length))
        _, header_bytes = _read_header(answer, 0)
        response, _ = _read_response(answer, header_bytes)
        return sum(partition.leader_id >= 0 for one in response.topics for partition in one.partitions)


def _frame(topic: str) -> bytes:
    body = io.BytesIO()
    header = RequestHeader(
        request_api_key=MetadataRequest.__api_key__,
        request_api_version=MetadataRequest.__version__,
        correlation_id=i32(0),
        client_id="bench",
    )
    _write_header(body, header)
    request = MetadataRequest(
        topics=(MetadataRequestTopic(name=TopicName(topic)),),
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )
    _write_request(body, request)
    return _LENGTH.pack(body.tell()) + body.getvalue()
