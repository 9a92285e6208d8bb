"""A daemon that answers spamc and clients of rspamd: existing glue of mail servers and mail programs works with it."""
