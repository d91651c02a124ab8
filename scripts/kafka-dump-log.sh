#!/usr/bin/env bash
# Kafka's kafka-dump-log.sh: kafka-dump-log.sh --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec "$root/.venv/bin/python" -P -m barnabas.tools.dump_log "$@"
