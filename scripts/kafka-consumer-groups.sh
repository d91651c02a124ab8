#!/usr/bin/env bash
# Kafka's kafka-consumer-groups.sh: kafka-consumer-groups.sh --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec "$root/.venv/bin/python" -P -m barnabas.tools.consumer_groups.consumer_groups "$@"
