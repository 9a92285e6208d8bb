"""A personal spam filter: messages, their tokens, what the tokens say, and what was learned of them."""

from suffice.spam.evaluation import Bin, Errors, Evaluation, Point
from suffice.spam.filter import NotTrainedError, SpamFilter
from suffice.spam.mailboxes import MailboxError, lines, messages, stream
from suffice.spam.message import Message, Part, digest, read
from suffice.spam.scoring import Score, Scoring, score
from suffice.spam.store import StoreError
from suffice.spam.tokens import tokens
from suffice.spam.tuning import Tuning
from suffice.spam.unlabeled import Unlabeled
from suffice.spam.verdict import Size, Thresholds, Training, Verdict

__all__ = [
    "Bin",
    "Errors",
    "Evaluation",
    "MailboxError",
    "Message",
    "NotTrainedError",
    "Part",
    "Point",
    "Score",
    "Scoring",
    "Size",
    "SpamFilter",
    "StoreError",
    "Thresholds",
    "Training",
    "Tuning",
    "Unlabeled",
    "Verdict",
    "digest",
    "lines",
    "messages",
    "read",
    "score",
    "stream",
    "tokens",
]
