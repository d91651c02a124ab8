"""The conditions that operators know by name: the lines that show them, what they mean and what to do."""
