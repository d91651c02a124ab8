"""The network layer of clients: connections, their limits and pace, and the requests on each of them."""
