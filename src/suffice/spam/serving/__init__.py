"""Common parts of the filter's servers: addresses, stores, scoring processes with time limits, and the log."""
