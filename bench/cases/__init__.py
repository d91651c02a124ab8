"""The benches; each module answers a question or several, and declares them as ``BENCHES``."""
