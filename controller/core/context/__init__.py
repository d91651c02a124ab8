"""The controller's knowledge (Kafka: ``ControllerContext``), its state machines as tables, and its gauges."""
