"""Clients of benches: producers, members of groups, probes, and requests far larger than clients send."""
