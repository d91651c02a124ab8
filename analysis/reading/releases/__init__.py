"""The lines of other releases than 2.8, as rows of the same kind as ``cluster.model.statechange`` has."""
