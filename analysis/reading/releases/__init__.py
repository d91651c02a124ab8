"""The lines of other releases than 2.8, as rows like those of ``cluster.model.statechange``."""
