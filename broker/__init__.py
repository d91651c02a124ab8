"""A broker: a process that hosts replicas and serves Kafka clients, other brokers and the controller."""
