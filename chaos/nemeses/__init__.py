"""The nemeses: which faults there are, how each is injected and undone, and their schedule."""
