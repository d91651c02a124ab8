"""The checker: what the history of a run, the logs of its servers and its log files prove. Pure."""
