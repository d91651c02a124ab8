"""The broker's two listeners: Kafka clients on one, peers and the controller (gRPC) on the other."""
