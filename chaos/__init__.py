"""Fault injection and its checks, in Jepsen's terms: *workload*, *history*, *nemesis*, *checker*.

* ``barnabas.workload``: ordinary Kafka clients that write unique values and read everything back, and the
  history of what they attempted and with what outcome, as data, on disk as JSON lines.
* ``nemeses``: the faults that are injected meanwhile.
* ``barnabas.checker``: finds in a history what was lost, duplicated, reordered or contradictory. Pure.
"""
