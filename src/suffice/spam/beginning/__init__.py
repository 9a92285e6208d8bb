"""How a person begins: finding the mail, a rehearsal on the newest of it, and what makes the filter run."""
