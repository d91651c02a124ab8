"""The files that options name."""

from __future__ import annotations

import json
import re

import pytest

from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.command_line.files import json_items, json_partition, read_properties
from barnabas.tools.command_line.parser import ToolError

ONE = {"topic": "t", "partition": 1, "offset": 5}


@pytest.mark.parametrize("content", [None, b"\xff"])
def test_a_file_that_cannot_be_read_is_named_with_its_option(tmp_path, content):
    file = tmp_path / "client.properties"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ToolError, match=rf"^--command-config {file} cannot be read: "):
        read_properties(str(file), "--command-config")


def test_properties_are_those_of_java(tmp_path):
    file = tmp_path / "client.properties"
    file.write_text("# ours\nclient.id=me\nrequest.timeout.ms = 7000\nsecurity.protocol:PLAINTEXT\n")
    assert read_properties(str(file), "--command-config") == {
        "client.id": "me",
        "request.timeout.ms": "7000",
        "security.protocol": "PLAINTEXT",
    }
    assert read_properties(None, "--command-config") == {}


def test_partitions_have_topics_and_numbers():
    text = json.dumps({"partitions": [ONE], "version": 1})
    assert [json_partition(item, "offset") for item in json_items(text, "partitions")] == [
        TopicPartition("t", 1)
    ]
    assert json_items("{}", "partitions") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "The input string is not a valid JSON: "),
        ("[" * 100_000, "The input string is not a valid JSON: "),
        ("[]", "The file holds '[]'; expected a JSON object"),
        ('{"version": 2}', "Not supported version field value 2"),
        ('{"partitions": 3}', "'partitions' holds 3; expected a list of objects"),
        ('{"partitions": [7]}', "expected a list of objects"),
        *(
            (json.dumps({"partitions": [ONE | change]}), "is no partition; expected a 'topic'")
            for change in ({"topic": 1}, {"partition": "1"}, {"partition": None}, {"offset": True})
        ),
    ],
)
def test_other_files_are_refused(text, message):
    with pytest.raises(ToolError, match=re.escape(message)):
        [json_partition(item, "offset") for item in json_items(text, "partitions")]
