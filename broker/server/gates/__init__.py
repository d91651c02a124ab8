"""The checks before the handlers, if the broker has an authorizer; ``table`` has one for each API.

A gate is ``gate(context, request, handler)``. It asks the authorizer, calls the handler with the part of the
request that the client may ask for, and adds the errors of the other parts to the answer. Without an
authorizer handlers are called directly.
"""
