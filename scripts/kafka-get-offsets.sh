#!/usr/bin/env bash
# Kafka's kafka-get-offsets.sh: kafka-get-offsets.sh --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec "$root/.venv/bin/python" -P -m barnabas.tools.get_offsets "$@"
