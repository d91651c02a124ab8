"""The handlers of Kafka's APIs, one file per API, named as the API.

A handler is ``handle(context, request)``. It is called in the order of a connection's requests, and returns
the response entity, or an awaitable of it if the answer takes time; None sends no answer. Whatever must
happen in the order of the requests (the append of a produce) happens before it returns. It may raise
``CloseConnectionError``.
"""
