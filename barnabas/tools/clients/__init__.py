"""The clients of the tools: their properties, logins and TLS, and the requests that they send."""
