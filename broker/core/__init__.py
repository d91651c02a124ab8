"""The broker's pure decisions: no I/O, no clock, no dice; time and ids come in as arguments."""
