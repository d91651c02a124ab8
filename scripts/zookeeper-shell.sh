#!/usr/bin/env bash
# Kafka's zookeeper-shell.sh: zookeeper-shell.sh --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec "$root/.venv/bin/python" -P -m barnabas.tools.zookeeper.zookeeper_shell "$@"
