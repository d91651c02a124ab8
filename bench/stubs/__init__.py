"""Brokers that only answer the controller, and a controller among them."""
