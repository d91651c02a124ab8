from __future__ import annotations

from pathlib import Path

from barnabas.cluster.model.properties import parse_properties
from barnabas.local.container_security import BROKERS, make
from barnabas.local.secured import admin_of

SETTINGS = Path(__file__).parents[4] / "scripts" / "container" / "server.properties"


def test_each_broker_has_the_settings_of_the_image_with_security(tmp_path):
    make(tmp_path, SETTINGS)
    for broker in range(1, BROKERS + 1):
        file = tmp_path / f"broker-{broker}" / "server.properties"
        written = parse_properties(file.read_text())
        assert written["listener.security.protocol.map"] == "INTERNAL:SASL_SSL,HOST:SASL_SSL,GRPC:SSL"
        assert written["listeners"] == parse_properties(SETTINGS.read_text())["listeners"]
        assert Path(written["ssl.keystore.location"]).name == f"broker-{broker}.pem"
        assert file.stat().st_mode & 0o777 == 0o600
    password = admin_of(tmp_path).password
    assert f'password="{password}"' in (tmp_path / "secure" / "admin.properties").read_text()
    assert password not in (tmp_path / "secure" / "jaas.conf").read_text()
