"""Command lines as Kafka's tools read them: options, checks, errors in Java's words, exit codes."""
