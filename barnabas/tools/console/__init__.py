"""``kafka-console-consumer.sh`` and ``kafka-console-producer.sh``."""
