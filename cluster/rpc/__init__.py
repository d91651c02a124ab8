"""The gRPC between brokers: code generated from proto/, and translation between messages and the model."""
