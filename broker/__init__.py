"""One broker: a process that hosts replicas and serves Kafka clients, its peers and the controller."""
