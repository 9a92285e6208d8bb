"""A small synthetic mailbox of a fictitious person, for demonstrations; none of it is real mail."""

from suffice.spam.sample_mailbox.mailbox import arriving, taught, write

__all__ = ["arriving", "taught", "write"]
