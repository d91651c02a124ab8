"""The judge, in Jepsen's words: a *workload* leaves a *history*, a *nemesis* disturbs, a *checker* judges.

* ``history``: what was attempted and what came of it, as data, on disk as JSON lines.
* ``workload``: ordinary Kafka clients that write values never written before, and read everything back.
* ``nemesis``: what is done to the brokers meanwhile.
* ``checker``: pure; from a history alone says what was lost, doubled, reordered or contradicts itself.
"""
