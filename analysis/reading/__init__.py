"""The reader of logs: from the bytes of files to rows of the table ``events``."""
