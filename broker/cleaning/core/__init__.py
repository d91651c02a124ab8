"""The log cleaner's pure decisions: which log is cleaned, how far, and what stays of its batches."""
