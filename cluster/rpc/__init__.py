"""The gRPC doors between brokers: code generated from proto/, and its translation from and to the model."""
