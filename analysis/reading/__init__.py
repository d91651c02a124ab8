"""How lines are read: from the bytes of logs to rows of the table ``events``."""
