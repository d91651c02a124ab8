"""What the controller knows (Kafka: ``ControllerContext``), its state machines as tables, and its gauges."""
