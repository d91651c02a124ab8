#!/usr/bin/env bash
# Kafka's kafka-verifiable-producer.sh: kafka-verifiable-producer.sh --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec "$root/.venv/bin/python" -P -m barnabas.tools.verifiable_producer "$@"
