"""A small mailbox of a person who does not exist, written for demonstrations: no word of it is anybody's mail."""

from suffice.spam.demo.mailbox import arriving, taught, write

__all__ = ["arriving", "taught", "write"]
