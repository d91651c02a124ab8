#!/usr/bin/env bash
# Kafka's kafka-topics.sh: kafka-topics.sh --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec "$root/.venv/bin/python" -P -m barnabas.tools.topics.topics "$@"
