#!/usr/bin/env bash
# Kafka's kafka-reassign-partitions.sh: kafka-reassign-partitions.sh --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec "$root/.venv/bin/python" -P -m barnabas.tools.reassignment.reassign_partitions "$@"
