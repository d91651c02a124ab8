"""The command ``barnabas``."""

from __future__ import annotations

import importlib.util
import os
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Annotated

import typer

from barnabas import commands
from barnabas import page as live_page
from barnabas import up as foreground
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.client.client_settings import security_of
from barnabas.local import zookeeper as embedded
from barnabas.local.control import BROKER_COMMANDS, DEFAULT_DIRECTORY
from barnabas.local.ports import OFFSETS, PortError, check_room
from barnabas.local.zookeeper_jars import ZooKeeperStartError, find_jars
from barnabas.local.zookeeper_security import server_security

app = typer.Typer(
    name="barnabas",
    help="A Kafka-compatible broker cluster in Python that you can kill and watch recover.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_Directory = Annotated[
    Path,
    typer.Option(
        "--dir", file_okay=False, help="The folder for all files, which is created if it does not exist."
    ),
]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"barnabas {version_of('barnabas')}")
        raise typer.Exit


@app.callback()
def everything(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """A Kafka-compatible broker cluster in Python that you can kill and watch recover."""


_Broker = Annotated[int, typer.Argument(metavar="ID", help="The broker's id.")]


@app.command()
def up(
    brokers: Annotated[int, typer.Option(min=1, max=1000, help="The number of brokers.")] = 3,
    directory: _Directory = DEFAULT_DIRECTORY,
    port: Annotated[
        int,
        typer.Option(
            help=f"The first broker's port for clients; the others follow, {OFFSETS}. 0 takes free ports.",
        ),
    ] = 9092,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--override", metavar="NAME=VALUE", help="A setting of all brokers; may be repeated."),
    ] = None,
    *,
    page_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="The port of the live page; 8080 or a free one by default."),
    ] = None,
    page_host: Annotated[
        str,
        typer.Option(help="The address of the live page; who reaches it may press its buttons."),
    ] = "127.0.0.1",
    page: Annotated[bool, typer.Option(help="Serve the live page.")] = True,
    secure: Annotated[
        bool,
        typer.Option(
            "--secure",
            help="Make certificates and users, and let in nobody else; clients' files are in DIR/secure. A "
            "secured cluster stays secured.",
        ),
    ] = False,
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Return when the cluster serves; `down` stops it.")
    ] = False,
) -> None:
    """Run a local cluster: ZooKeeper and brokers, each a process.

    New topics have 3 replicas and min.insync.replicas=2 unless settings say
    otherwise. A broker that ends by itself is started again; one that `kill` or
    `stop` ended stays down until `start`.
    """
    given = overrides or []
    settings = dict(commands.setting(text) for text in given)
    try:
        check_room(port, brokers)
    except PortError as error:
        raise typer.BadParameter(str(error)) from error
    page = page and _has_page(is_required=page_port is not None)
    if detach:
        arguments = [f"--brokers={brokers}", f"--dir={directory}", f"--port={port}"]
        arguments += [f"--override={text}" for text in given]
        arguments += [] if page else ["--no-page"]
        arguments += [] if page_port is None else [f"--page-port={page_port}"]
        arguments += [f"--page-host={page_host}", *(["--secure"] if secure else [])]
        raise typer.Exit(foreground.detach(directory, arguments))
    ports = foreground.PAGE_PORTS if page_port is None else (page_port,)
    page_ports = ports if page else ()
    raise typer.Exit(
        foreground.run(directory, brokers, port, settings, page_ports, page_host=page_host, secure=secure)
    )


def _has_page(*, is_required: bool) -> bool:
    """Return whether the page can be served here; say so if it cannot.

    Raises:
        typer.BadParameter: It cannot, and it is required.
    """
    if live_page.is_installed():
        return True
    if is_required:
        raise typer.BadParameter(live_page.NEEDS, param_hint="--page-port")
    typer.echo(f"barnabas: {live_page.NEEDS}", err=True)
    return False


@app.command("page")
def watch(
    *,
    zookeeper: Annotated[str, typer.Option(help="The connect string of the cluster's ZooKeeper.")],
    bootstrap: Annotated[str, typer.Option(help="The bootstrap servers.")],
    metrics: Annotated[
        list[str] | None, typer.Option(metavar="ID=HOST:PORT", help="A broker's metrics; may be repeated.")
    ] = None,
    logs: Annotated[
        list[str] | None, typer.Option(metavar="ID=FOLDER", help="A broker's logs; may be repeated.")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8080,
    names: Annotated[
        list[str] | None, typer.Option("--name", help="A further name under which browsers reach the page.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder for the report of the logs.")] = Path("page-report"),
    secured: Annotated[
        Path | None,
        typer.Option(help="The directory of a secured cluster, as whose admin the page logs in."),
    ] = None,
    report_command: Annotated[
        str | None,
        typer.Option(help="The command that makes a report elsewhere, shown where this page has no Spark."),
    ] = None,
) -> None:
    """Serve the live page of a cluster that runs elsewhere, without buttons."""
    if not _has_page(is_required=False):
        raise typer.Exit(1)
    from barnabas.local.secured import admin_of  # loads cryptography
    from barnabas.page import watch as watching  # a web server and a client take half a second to import
    from barnabas.page.live import Source

    try:
        addresses = watching.by_id(metrics or [], "--metrics", "HOST:PORT")
        folders = watching.by_id(logs or [], "--logs", "FOLDER")
        security = security_of({}, os.environ)
        login = None if secured is None else admin_of(secured)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(str(error)) from error
    paths = {broker: Path(each) for broker, each in folders.items()}
    source = Source(zookeeper, bootstrap, addresses, paths, security, login)
    raise typer.Exit(
        watching.run(
            source,
            host=host,
            port=port,
            names=names or [],
            out=out,
            report_command=report_command,
        )
    )


@app.command()
def status(directory: _Directory = DEFAULT_DIRECTORY) -> None:
    """Print the state of each broker of a cluster that `up` runs."""
    raise typer.Exit(commands.print_status(directory))


def _add_broker_command(name: str, meaning: str) -> None:
    @app.command(name, help=meaning)
    def send(broker: _Broker, directory: _Directory = DEFAULT_DIRECTORY) -> None:
        raise typer.Exit(commands.on(directory, lambda cluster: cluster.perform(name, BrokerId(broker))))


for _name, _meaning in BROKER_COMMANDS.items():
    _add_broker_command(_name, _meaning)


@app.command()
def down(directory: _Directory = DEFAULT_DIRECTORY) -> None:
    """Stop a cluster that `up` runs; its data stay."""
    raise typer.Exit(commands.on(directory, lambda cluster: cluster.down_and_wait()))


@app.command()
def logs(
    broker: Annotated[
        int | None, typer.Argument(help="The broker's id; all brokers if it is left out.")
    ] = None,
    directory: _Directory = DEFAULT_DIRECTORY,
    file: Annotated[str, typer.Option(help="server, state-change or console.")] = "server",
    lines: Annotated[
        int, typer.Option("-n", "--lines", min=0, help="The number of last lines of each log.")
    ] = 20,
    *,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Keep printing what is added.")] = False,
) -> None:
    """Print the end of the brokers' logs, also of a cluster that does not run."""
    raise typer.Exit(commands.print_logs(directory, broker, file, lines, follow=follow))


@app.command()
def zookeeper(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port for clients; 0 takes a free one.")
    ] = 2181,
    directory: _Directory = Path("barnabas-zookeeper"),
    *,
    secure: Annotated[
        bool, typer.Option("--secure", help="Serve nobody without the password in jaas.conf, which it makes.")
    ] = False,
    keystore: Annotated[
        Path | None, typer.Option(metavar="PEM", help="Serve TLS only, with this key and certificate.")
    ] = None,
    truststore: Annotated[
        Path | None,
        typer.Option(metavar="PEM", help="The authorities of clients, with --keystore."),
    ] = None,
) -> None:
    """Run an embedded ZooKeeper server in the foreground. One that was started with --secure stays so."""
    try:
        security = server_security(directory, keystore, truststore, secure=secure)
        status = embedded.run_in_foreground(directory, port, security)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    except (ZooKeeperStartError, OSError) as error:
        typer.echo(f"barnabas: {error}", err=True)
        status = 1
    raise typer.Exit(status)


@app.command("fetch-jars")
def fetch_jars() -> None:
    """Download what the first start of ZooKeeper would, for later ones without a network."""
    try:
        jars = find_jars(secure=True)
    except ZooKeeperStartError as error:
        typer.echo(f"barnabas: {error}", err=True)
        raise typer.Exit(1) from error
    typer.echo(f"barnabas: ZooKeeper's jars are in {jars[0].parent}")


@app.command()
def demo(
    picture: Annotated[Path | None, typer.Option(help="An SVG file for a picture of the failover.")] = None,
) -> None:
    """Start a cluster, kill leader and controller under load, and report what was lost."""
    from barnabas import demo as story  # its clients take a second to import

    raise typer.Exit(story.run(picture))


@app.command()
def analyze(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Logs of brokers: files, folders (all logs in them), globs, or - for the standard input."
        ),
    ],
    *,
    # A Path would turn hdfs:// into hdfs:/.
    out: Annotated[
        str, typer.Option("--out", help="Where tables and report are written: a folder, or a URI for Spark.")
    ] = "barnabas-report",
    form: Annotated[
        str, typer.Option("--format", help="The form of the report to print: html, text, json or markdown.")
    ] = "html",
    broker: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The broker id of lines if neither the line nor the path names one."),
    ] = None,
    time_zone: Annotated[
        str, typer.Option("--time-zone", help="The time zone of the logs; the report is in UTC.")
    ] = "UTC",
    min_insync_replicas: Annotated[
        str | None,
        typer.Option(metavar="N", help="min.insync.replicas of the topics, if no server.log contains it."),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Keep reading what is added to the logs.")] = False,
    alert_webhook: Annotated[
        str | None, typer.Option(metavar="URL", help="With --follow, POST alerts as JSON to this URL.")
    ] = None,
    alert_port: Annotated[
        str | None,
        typer.Option(metavar="PORT", help="With --follow, serve alerts to Prometheus; 0 takes a free port."),
    ] = None,
    alert_host: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="The address for --alert-port; 127.0.0.1 by default."),
    ] = None,
    alert_cluster: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The cluster's name in alerts; by default its id in the logs."),
    ] = None,
) -> None:
    """Read brokers' logs with Spark and report what happened."""
    if importlib.util.find_spec("pyspark") is None:
        typer.echo("barnabas: analyze needs Spark: pip install 'barnabas[spark]'", err=True)
        raise typer.Exit(1)
    from barnabas.analysis import job  # Spark takes seconds to import

    arguments = [f"--out={out}", f"--format={form}", f"--time-zone={time_zone}"]
    given = {
        "broker": broker,
        "min-insync-replicas": min_insync_replicas,
        "alert-webhook": alert_webhook,
        "alert-port": alert_port,
        "alert-host": alert_host,
        "alert-cluster": alert_cluster,
    }
    arguments += [f"--{name}={value}" for name, value in given.items() if value is not None]
    raise typer.Exit(job.main([*arguments, *(["--follow"] if follow else []), "--", *paths]))


def main() -> None:
    """Run the console script."""
    app()
