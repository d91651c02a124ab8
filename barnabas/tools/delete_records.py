"""``kafka-delete-records.sh``: delete the records of partitions below given offsets.

Options and output are those of ``kafka.admin.DeleteRecordsCommand`` of Kafka 2.8. The error of a partition is
printed and leaves the exit code at 0; a file that cannot be used makes it 1.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping

from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.clients.admin_client import DEADLINE_MS, AdminClient
from barnabas.tools.clients.command_config import for_kafka_python
from barnabas.tools.clients.refusals import Refusal
from barnabas.tools.clients.requests import Requests
from barnabas.tools.command_line.files import duplicates, json_items, json_partition, read_text
from barnabas.tools.command_line.parser import Parser, ToolError

_EXAMPLE = '{"partitions": [{"topic": "foo", "partition": 1, "offset": 1}], "version": 1}'

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
    offsets = [(json_partition(item, "offset"), item["offset"]) for item in json_items(text, "partitions")]
    twice = duplicates(tp for tp, _ in offsets)
    if twice:
        raise ToolError(f"Offset json file contains duplicate topic partitions: {','.join(map(str, twice))}")
    return dict(offsets)


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
    offsets = parse_offsets(read_text(flags.offset_json_file))
    with AdminClient(flags.bootstrap_server, for_kafka_python(flags.command_config)) as admin:
        sys.stdout.write("Executing records delete operation\n")
        results = Requests(admin, DEADLINE_MS).delete_records(offsets)
    sys.stdout.write("Records delete operation completed:\n")
    sys.stdout.writelines(f"{line}\n" for line in result_lines(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
