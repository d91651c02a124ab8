"""Brokers: start, failure (Kafka: ``onBrokerFailure``), controlled shutdown, and what they report."""
