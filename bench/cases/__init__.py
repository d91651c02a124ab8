"""The benches, each module a question or a family of questions; it declares them as ``BENCHES``."""
