"""One file per Kafka API, named as the API.

A handler is ``handle(context, request)``. It is called in the order in which a connection's requests came
in, and gives the response entity, or an awaitable of one where the answer takes time; None sends no answer.
What must happen in the order of the requests (the append of a produce) happens before it returns. It may
raise ``CloseConnectionError``.
"""
