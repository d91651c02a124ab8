"""Random requests of every class that kio knows."""

from __future__ import annotations

import datetime as dt
import io
import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import pytest
from kio.index import load_request_schema
from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map, schema_name_map
from kio.serial import entity_writer

INTEGERS = {f"{sign}int{bits}": (sign, bits) for sign in ("", "u") for bits in (8, 16, 32, 64)}


def request_classes() -> Iterator[type[Any]]:
    for key, name in api_key_map.items():
        for version in schema_name_map[name]:
            yield load_request_schema(key, version)


def random_value(rng: random.Random, kafka_type: str) -> Any:
    if kafka_type in INTEGERS:
        sign, bits = INTEGERS[kafka_type]
        low = 0 if sign else -(2 ** (bits - 1))
        return rng.randint(low, low + 2**bits - 1)
    match kafka_type:
        case "bool":
            return rng.random() < 0.5
        case "string":
            return "".join(rng.choices("abcäöü-._", k=rng.choice((0, 1, 5, 40, 200))))
        case "bytes" | "records":
            return rng.randbytes(rng.choice((0, 1, 61, 127, 128, 500)))
        case "uuid":
            return uuid.UUID(int=rng.getrandbits(128))
        case "error_code":
            return rng.choice(list(ErrorCode))
        case "float64":
            return float(rng.randint(-1000, 1000))
        case "timedelta_i32" | "timedelta_i64":
            return dt.timedelta(milliseconds=rng.randint(-1000, 2**31 - 1))
        case "datetime_i64":
            return dt.datetime.fromtimestamp(rng.randint(0, 2**31), dt.UTC)
    raise AssertionError(f"no random value of type {kafka_type}")


def random_field(rng: random.Random, kind: Any, kafka_type: str | None, *, tags: bool) -> Any:
    if get_origin(kind) is UnionType:
        if rng.random() < 0.3:
            return None
        kind = next(part for part in get_args(kind) if part is not NoneType)
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        return tuple(random_field(rng, item, kafka_type, tags=tags) for _ in range(rng.choice((0, 1, 2, 5))))
    if is_dataclass(kind):
        return random_entity(rng, kind, tags=tags)
    assert kafka_type is not None
    return random_value(rng, kafka_type)


def random_entity(rng: random.Random, entity: Any, *, tags: bool = True) -> Any:
    values = {}
    for field in fields(entity):
        if "tag" in field.metadata and not (tags and rng.random() < 0.5):
            continue
        value = random_field(rng, field.type, field.metadata.get("kafka_type"), tags=tags)
        if "tag" in field.metadata and value is None:
            continue
        values[field.name] = value
    return entity(**values)


def encoded(entity: Any) -> bytes:
    out = io.BytesIO()
    entity_writer(type(entity))(out, entity)
    return out.getvalue()


def framed(body: Any, client_id: str | None = "test", correlation_id: int = 7) -> bytes:
    """A whole request without its size: header and body."""
    header = body.__header_schema__(
        request_api_key=body.__api_key__,
        request_api_version=body.__version__,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    return encoded(header) + encoded(body)


@pytest.fixture(scope="session")
def all_request_classes() -> list[type[Any]]:
    return list(request_classes())


@pytest.fixture
def random_request() -> Callable[..., Any]:
    return random_entity


@pytest.fixture
def encode_entity() -> Callable[[Any], bytes]:
    return encoded


@pytest.fixture
def frame_of() -> Callable[..., bytes]:
    return framed
