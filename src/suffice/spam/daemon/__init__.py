"""A daemon that answers spamc and rspamd clients, so that existing integrations of mail software work with it."""
