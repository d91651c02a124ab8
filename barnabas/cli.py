"""The command ``barnabas``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from barnabas import up as foreground
from barnabas.local import zookeeper as embedded
from barnabas.local.ports import OFFSETS
from barnabas.local.zookeeper_jars import ZooKeeperStartError

app = typer.Typer(
    name="barnabas",
    help="A Kafka-compatible broker cluster in Python that you can kill and watch recover.",
    no_args_is_help=True,
    add_completion=False,
)

_Directory = Annotated[
    Path, typer.Option("--dir", help="The folder for all files, which is created if it does not exist.")
]


@app.command()
def up(
    brokers: Annotated[int, typer.Option(min=1, max=1000, help="The number of brokers.")] = 3,
    directory: _Directory = Path("barnabas-data"),
    port: Annotated[
        int,
        typer.Option(
            help=f"The first broker's port for clients; the others follow, {OFFSETS}. 0 takes free ports.",
        ),
    ] = 9092,
) -> None:
    """Run a local cluster in the foreground: ZooKeeper and brokers, each a process."""
    raise typer.Exit(foreground.run(directory, brokers, port))


@app.command()
def zookeeper(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port for clients; 0 takes a free one.")
    ] = 2181,
    directory: _Directory = Path("barnabas-zookeeper"),
) -> None:
    """Run an embedded ZooKeeper server in the foreground."""
    try:
        status = embedded.run_in_foreground(directory, port)
    except ZooKeeperStartError as error:
        typer.echo(f"barnabas: {error}", err=True)
        status = 1
    raise typer.Exit(status)


@app.command()
def demo(
    picture: Annotated[
        Path | None, typer.Option(help="An SVG file for the cluster at its worst and the verdict.")
    ] = None,
) -> None:
    """Start a cluster, kill leader and controller under load, and report what was lost."""
    from barnabas import demo as story  # its clients take a second to import

    raise typer.Exit(story.run(picture))


@app.command()
def analyze(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="state-change.log, server.log and controller.log files, folders of them, or globs."
        ),
    ],
    *,
    # A Path would turn hdfs:// into hdfs:/.
    out: Annotated[
        str, typer.Option("--out", help="Where tables and report are written: a folder, or a URI for Spark.")
    ] = "barnabas-report",
    form: Annotated[
        str, typer.Option("--format", help="The form of the report to print: html, text or json.")
    ] = "html",
    broker: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The broker id of lines if neither the line nor the path names one."),
    ] = None,
    time_zone: Annotated[
        str, typer.Option("--time-zone", help="The time zone of the logs; the report is in UTC.")
    ] = "UTC",
    follow: Annotated[bool, typer.Option("--follow", help="Keep reading what is added to the logs.")] = False,
) -> None:
    """Read brokers' logs with Spark and report what happened."""
    from barnabas.analysis import job  # Spark takes seconds to import

    arguments = [f"--out={out}", f"--format={form}", f"--time-zone={time_zone}"]
    arguments += [] if broker is None else [f"--broker={broker}"]
    raise typer.Exit(job.main([*arguments, *(["--follow"] if follow else []), "--", *paths]))


def main() -> None:
    """Run the console script."""
    app()
