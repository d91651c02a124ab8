"""``kafka-producer-perf-test.sh`` and ``kafka-consumer-perf-test.sh``."""
