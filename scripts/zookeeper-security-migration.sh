#!/usr/bin/env bash
# Kafka's zookeeper-security-migration.sh: zookeeper-security-migration.sh --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec "$root/.venv/bin/python" -P -m barnabas.tools.zookeeper.security_migration "$@"
