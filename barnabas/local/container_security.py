"""The security of the containers of ``docker-compose.secure.yml``, whose first services run this module.

``container_security make DIRECTORY SETTINGS`` makes certificates, passwords and each broker's settings;
``container_security users DIRECTORY ZOOKEEPER`` writes the users to ZooKeeper.
"""

from __future__ import annotations

import sys
from pathlib import Path

from barnabas.cluster.model.properties import parse_properties, render_properties
from barnabas.cluster.zk.client.client_settings import security_of
from barnabas.local.secret_files import write_secret
from barnabas.local.secured import Secured, settings_of
from barnabas.local.zookeeper_security import JAAS_FILE, client_settings, render_users

BROKERS = 5
"""The brokers of docker-compose.yml, with those of its profile ``five``."""

_LISTENERS = ("INTERNAL", "HOST")
_BOOTSTRAP = "brokers:19092"


def _secured(directory: Path) -> Secured:
    return Secured(directory, BROKERS, lambda broker: (f"broker-{broker}", "brokers"))


def make(directory: Path, settings: Path) -> None:
    """Make the security in ``directory``, and each broker's server.properties over those of the image."""
    secured = _secured(directory)
    write_secret(secured.folder / JAAS_FILE, render_users(secured.zookeeper.users))
    secured.write_clients(_BOOTSTRAP)
    common = {
        **parse_properties(settings.read_text(encoding="utf-8")),
        **settings_of(secured.folder, BROKERS, _LISTENERS),
        **client_settings(secured.zookeeper, secured.folder / JAAS_FILE),
    }
    for broker in range(1, BROKERS + 1):
        own = {**common, "ssl.keystore.location": str(secured.store(broker))}
        write_secret(directory / f"broker-{broker}" / "server.properties", render_properties(own))


def users(directory: Path, zookeeper: str) -> None:
    """Write the users and their ACLs to ZooKeeper."""
    secured = _secured(directory)
    settings = client_settings(secured.zookeeper, secured.folder / JAAS_FILE)
    secured.provision(zookeeper, security_of(settings, {}))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", where, given]:
            make(Path(where), Path(given))
        case ["users", where, connect]:
            users(Path(where), connect)
        case _:
            sys.exit("container_security: expected make DIRECTORY SETTINGS, or users DIRECTORY ZOOKEEPER")
