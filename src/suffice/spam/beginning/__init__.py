"""First steps of a user: finding the mail, a rehearsal on the newest messages, and installing the filter."""
