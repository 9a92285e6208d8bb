"""A personal spam filter: messages, their tokens, and what the tokens say."""

from suffice.spam.mailboxes import MailboxError, lines, messages, stream
from suffice.spam.message import Message, Part, digest, read
from suffice.spam.scoring import Score, Scoring, score
from suffice.spam.tokens import tokens

__all__ = [
    "MailboxError",
    "Message",
    "Part",
    "Score",
    "Scoring",
    "digest",
    "lines",
    "messages",
    "read",
    "score",
    "stream",
    "tokens",
]
