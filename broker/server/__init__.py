"""The broker's two listeners: one for Kafka clients, one (gRPC) for other brokers and the controller."""
