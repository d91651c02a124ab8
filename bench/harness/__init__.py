"""A bench as an object, with its question and target; its report; a cluster, and meters of processes."""
