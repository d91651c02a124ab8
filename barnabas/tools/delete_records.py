"""``kafka-delete-records.sh``: delete the records of partitions below given offsets.

Options and output are those of ``kafka.admin.DeleteRecordsCommand`` of Kafka 2.8. The error of a partition is
printed and leaves the exit code at 0; a file that cannot be used makes it 1.
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.clients.admin_client import DEADLINE_MS, AdminClient
from barnabas.tools.clients.command_config import for_kafka_python
from barnabas.tools.clients.refusals import Refusal
from barnabas.tools.clients.requests import Requests
from barnabas.tools.command_line.parser import Parser, ToolError

_EXAMPLE = '{"partitions": [{"topic": "foo", "partition": 1, "offset": 1}], "version": 1}'
_VERSION = 1

OPTIONS = Parser(
    "kafka-delete-records.sh",
    "This tool helps to delete records of the given partitions down to the specified offset.",
)
OPTIONS.add_servers()
OPTIONS.add_argument(
    "--offset-json-file",
    required=True,
    help=f"the offset of each partition below which records are deleted, -1 for all: {_EXAMPLE}",
)


def parse_offsets(text: str) -> dict[TopicPartition, int]:
    """Parse the offset of each partition, -1 for the high watermark.

    Raises:
        ToolError: The text is not JSON of the form of the example, or names a partition twice.
    """
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ToolError("The input string is not a valid JSON") from error
    fields = _object(body)
    version = _number(fields["version"], "Int") if "version" in fields else _VERSION
    if version != _VERSION:
        raise ToolError(f"Not supported version field value {version}")
    if "partitions" not in fields:
        raise ToolError("Missing partitions field")
    if not isinstance(fields["partitions"], list):
        raise ToolError(f"Expected JSON array, received {_text(fields['partitions'])}")
    offsets = [_offset(each) for each in fields["partitions"]]
    twice = [str(tp) for tp, times in Counter(tp for tp, _ in offsets).items() if times > 1]
    if twice:
        raise ToolError(
            f"Offset json file contains duplicate topic partitions: {','.join(twice)}",
        )
    return dict(offsets)


def _offset(item: object) -> tuple[TopicPartition, int]:
    fields = _object(item)
    for name in ("topic", "partition", "offset"):
        if name not in fields:
            raise ToolError(f"No such field exists: `{name}`")
    if not isinstance(fields["topic"], str):
        raise ToolError(f"Expected `String` value, received {_text(fields['topic'])}")
    partition = _number(fields["partition"], "Int")
    return TopicPartition(fields["topic"], partition), _number(fields["offset"], "Long")


def _object(item: object) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise ToolError(f"Expected JSON object, received {_text(item)}")
    return item


def _number(value: object, kind: str) -> int:
    if type(value) is not int:
        raise ToolError(f"Expected `{kind}` value, received {_text(value)}")
    return value


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def result_lines(results: Mapping[TopicPartition, int | Refusal]) -> list[str]:
    """Return a line for each partition: its new start, or its error."""
    return [
        f"partition: {tp}\terror: {result}"
        if isinstance(result, Refusal)
        else f"partition: {tp}\tlow_watermark: {result}"
        for tp, result in results.items()
    ]


@OPTIONS.main
def main(flags: Namespace) -> int:
    """Delete the records, and return the exit code."""
    try:
        text = Path(flags.offset_json_file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ToolError(f"Unable to read file {flags.offset_json_file}") from error
    offsets = parse_offsets(text)
    with AdminClient(flags.bootstrap_server, for_kafka_python(flags.command_config)) as admin:
        sys.stdout.write("Executing records delete operation\n")
        results = Requests(admin, DEADLINE_MS).delete_records(offsets)
    sys.stdout.write("Records delete operation completed:\n")
    sys.stdout.writelines(f"{line}\n" for line in result_lines(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
