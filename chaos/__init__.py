"""Fault injection and its checks, in Jepsen's terms: *workload*, *history*, *nemesis*, *checker*.

* ``history``: what clients attempted and with what outcome, as data, on disk as JSON lines.
* ``workload``: ordinary Kafka clients that write unique values and read everything back.
* ``nemeses``: the faults that are injected meanwhile.
* ``checker``: finds in a history what was lost, duplicated, reordered or contradictory. Pure.
"""
