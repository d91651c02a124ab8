"""The start, the periodic work and the shutdown of a broker process."""
