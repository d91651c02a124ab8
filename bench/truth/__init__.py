"""The truth of the story: scripted failures of real clusters, and the judge of what the analysis says.

``scenarios`` draws what is done to a cluster, ``play`` does it, and ``probe`` watches as a client does.
``znodes`` reads ZooKeeper's history; ``measured`` derives from all this what truly happened (``truths``).
``claims`` gets the story from the logs alone, and ``judge`` compares the two. ``recordings`` are their
files.
"""
