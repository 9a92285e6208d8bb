"""Mail on a server: an account, a connection to it, folders read as a source, and folders watched."""

from suffice.spam.imap.account import Account, messages_of

__all__ = ["Account", "messages_of"]
