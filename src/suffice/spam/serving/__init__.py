"""What the servers of the filter share: addresses, stores, processes that score in time, and lines about messages."""
