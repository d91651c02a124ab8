"""One broker, started in four phases: open, replicate, register, serve. It closes in the opposite order."""
