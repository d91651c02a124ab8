"""The inputs of the core (Kafka: ``ControllerEvent``) and its effects."""
