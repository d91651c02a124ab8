"""Brokers: start, failure (Kafka: ``onBrokerFailure``), controlled shutdown, notifications and responses."""
