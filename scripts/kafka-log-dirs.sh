#!/usr/bin/env bash
# Kafka's kafka-log-dirs.sh: kafka-log-dirs.sh --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec "$root/.venv/bin/python" -P -m barnabas.tools.log_dirs "$@"
