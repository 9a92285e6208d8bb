"""Mail on an IMAP server: accounts, connections, folders as sources of messages, and watching of folders."""

from suffice.spam.imap.account import Account, messages_of

__all__ = ["Account", "messages_of"]
