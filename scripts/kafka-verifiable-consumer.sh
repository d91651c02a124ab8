#!/usr/bin/env bash
# Kafka's kafka-verifiable-consumer.sh: kafka-verifiable-consumer.sh --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec "$root/.venv/bin/python" -P -m barnabas.tools.verifiable_consumer "$@"
