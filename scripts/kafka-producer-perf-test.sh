#!/usr/bin/env bash
# Kafka's kafka-producer-perf-test.sh: kafka-producer-perf-test.sh --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec "$root/.venv/bin/python" -P -m barnabas.tools.performance.producer_performance "$@"
