#!/usr/bin/env bash
# Kafka's kafka-consumer-perf-test.sh: kafka-consumer-perf-test.sh --help
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec "$root/.venv/bin/python" -P -m barnabas.tools.performance.consumer_performance "$@"
