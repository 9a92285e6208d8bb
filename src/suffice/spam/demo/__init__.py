"""A small synthetic mailbox of a fictitious person, for demonstrations; none of it is real mail."""

from suffice.spam.demo.mailbox import arriving, taught, write

__all__ = ["arriving", "taught", "write"]
