#!/usr/bin/env bash
# Kafka's kafka-configs.sh: kafka-configs.sh --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec "$root/.venv/bin/python" -P -m barnabas.tools.configs.configs "$@"
