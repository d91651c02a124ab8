"""The controller, which runs on the elected broker: a pure core in thin shells."""
