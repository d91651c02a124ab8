#!/usr/bin/env bash
# Kafka's kafka-console-consumer.sh: kafka-console-consumer.sh --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec "$root/.venv/bin/python" -P -m barnabas.tools.console.console_consumer "$@"
