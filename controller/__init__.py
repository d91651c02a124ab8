"""The controller that the winning broker runs: a pure core in thin shells."""
