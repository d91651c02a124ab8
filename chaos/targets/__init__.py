"""The targets of faults: servers, their disks, and the network between them."""
