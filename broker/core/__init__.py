"""The broker's pure decisions: no I/O, no clock, no random numbers; time and ids come in as arguments."""
