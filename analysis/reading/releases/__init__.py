"""Tables of the lines that other releases than 2.8 write, in the rows of ``cluster.model.statechange``."""
