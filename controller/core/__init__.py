"""The controller's decisions, pure: an input goes in, effects come out. `decide` is the entrance.

The packages, each of which uses only those below it: `brokers`, `election`, `leader_elections`,
`reassignment` and `configs`, `topics`, `replicas`, `partitions`, `batches`, `context`, `protocol`.
"""
