from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from barnabas.cluster.zk.schema.body import Body, ZnodeDecodeError, encode_json, int32_of


def body(content: bytes) -> Body:
    return Body("/some/node", content)


def test_json_is_compact_utf8() -> None:
    assert (
        encode_json({"version": 1, "name": "é", "list": [1, 2]})
        == '{"version":1,"name":"é","list":[1,2]}'.encode()
    )


def test_the_error_says_where_what_and_what_was_expected() -> None:
    with pytest.raises(ZnodeDecodeError) as caught:
        body(b"nonsense")
    assert str(caught.value) == "/some/node holds b'nonsense', expected a JSON object"
    assert (caught.value.path, caught.value.content, caught.value.expected) == (
        "/some/node",
        b"nonsense",
        "a JSON object",
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "a JSON object"),
        (b"\xff", "a JSON object"),
        (b"[1]", "a JSON object"),
        (b"{}", "a numeric field 'version'"),
        (b'{"version":"x"}', "a numeric field 'version'"),
        (b'{"version":null}', "a numeric field 'version'"),
        (b'{"version":0}', "a 'version' of 1 or more"),
        (b'{"version":1e999}', "a JSON object"),
        (b'{"version":Infinity}', "a JSON object"),
        (b'{"version":1,"x":NaN}', "a JSON object"),
        (b'{"version":1,"x":%b}' % (b"9" * 5000), "a JSON object"),
        (b'{"version":"%b"}' % (b"9" * 5000), "a numeric field 'version'"),
        (b'{"version":1,"x":' + b"[" * 100_000, "a JSON object"),
    ],
)
def test_what_is_no_body(content: bytes, expected: str) -> None:
    with pytest.raises(ZnodeDecodeError) as caught:
        body(content)
    assert caught.value.expected == expected


READERS: list[tuple[Callable[[Body], Any], bytes, Any]] = [
    (lambda b: b.integer("x"), b"7", 7),
    (lambda b: b.integer("x"), b'"-7"', -7),
    (lambda b: b.text("x"), b'"a"', "a"),
    (lambda b: b.int32("x"), b"7", 7),
    (lambda b: b.int32("x"), b'"7"', 7),
    (lambda b: b.int32("x", least=-1, most=0), b"-1", -1),
    (lambda b: b.broker_ids("x"), b"[3,1,2]", (3, 1, 2)),
    (lambda b: b.texts("x"), b'["b","a"]', ("b", "a")),
    (lambda b: b.objects("x"), b'[{"k":1}]', [{"k": 1}]),
    (lambda b: b.text_map("x"), b'{"k":"v"}', {"k": "v"}),
    (lambda b: b.replicas_by_partition("x"), b'{"0":[1,2],"10":[]}', {0: (1, 2), 10: ()}),
]


@pytest.mark.parametrize(("read", "field", "value"), READERS)
def test_fields_by_type(read: Callable[[Body], Any], field: bytes, value: Any) -> None:
    assert read(body(b'{"version":1,"x":' + field + b"}")) == value


@pytest.mark.parametrize("field", [b"null", b"true", b"1.5", b'["a",1]', b'{"a":1}', b"[[1]]"])
@pytest.mark.parametrize("read", [read for read, _, _ in READERS])
def test_fields_of_another_type_are_refused_by_name(read: Callable[[Body], Any], field: bytes) -> None:
    with pytest.raises(ZnodeDecodeError, match="in field 'x'"):
        read(body(b'{"version":1,"x":' + field + b"}"))
    with pytest.raises(ZnodeDecodeError, match="in field 'x'"):
        read(body(b'{"version":1}'))


@pytest.mark.parametrize(
    ("read", "field"),
    [
        (lambda b: b.integer("x"), b"9223372036854775808"),
        (lambda b: b.integer("x"), b'"%b"' % (b"9" * 5000)),
        (lambda b: b.int32("x"), b"2147483648"),
        (lambda b: b.int32("x"), b"-1"),
        (lambda b: b.int32("x", most=65535), b"65536"),
        (lambda b: b.broker_ids("x"), b"[2147483648]"),
        (lambda b: b.broker_ids("x"), b"[-1]"),
        (lambda b: b.text("x"), rb'"\ud800"'),
        (lambda b: b.texts("x"), rb'["a","\udfff"]'),
        (lambda b: b.text_map("x"), rb'{"\ud800":"v"}'),
        (lambda b: b.text_map("x"), rb'{"k":"\ud800"}'),
    ],
)
def test_what_kafka_cannot_hold_is_refused_by_name(read: Callable[[Body], Any], field: bytes) -> None:
    with pytest.raises(ZnodeDecodeError, match="in field 'x'"):
        read(body(b'{"version":1,"x":' + field + b"}"))


def test_text_beyond_ascii_is_read() -> None:
    assert body(rb'{"version":1,"x":"\ud83d\ude00\u00e9"}').text("x") == "\U0001f600é"


@pytest.mark.parametrize(
    ("name", "number"),
    [("0", 0), ("0000000007", 7), ("2147483647", 2**31 - 1), ("2147483648", None), ("9" * 5000, None)]
    + [(name, None) for name in ("", "-1", "x", "1.0", " 1", "1_0", "\u0661", "²")],
)
def test_names_that_are_numbers(name: str, number: int | None) -> None:
    assert int32_of(name) == number


def test_a_null_field_is_not_there() -> None:
    read = body(b'{"version":"1","null":null,"zero":0}')
    assert read.version == 1
    assert (read.has("null"), read.has("zero"), read.has("missing")) == (False, True, False)
