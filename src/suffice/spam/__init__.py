"""A personal spam filter: reading messages, tokenising, scoring, and the store of what was learned."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # at run time `__getattr__` loads these names on first access
    from suffice.spam.connected import StoreError
    from suffice.spam.evaluation import Bin, Errors, Evaluation, Point
    from suffice.spam.filter import NotTrainedError, SpamFilter
    from suffice.spam.foreign import DumpError
    from suffice.spam.isolation import UnreadableError
    from suffice.spam.lists import ListError, Lists
    from suffice.spam.mail_tables import mail_table
    from suffice.spam.mailboxes import MailboxError, lines, messages, stream
    from suffice.spam.message import Message, Part, digest, read
    from suffice.spam.scoring import Score, Scoring, score
    from suffice.spam.tokenizing import tokens
    from suffice.spam.transfer import Transfer
    from suffice.spam.tuning import Tuning
    from suffice.spam.unlabeled import Unlabeled
    from suffice.spam.verdict import Size, Thresholds, Training, Verdict

_NAMES = {
    "evaluation": ("Bin", "Errors", "Evaluation", "Point"),
    "filter": ("NotTrainedError", "SpamFilter"),
    "foreign": ("DumpError",),
    "isolation": ("UnreadableError",),
    "lists": ("ListError", "Lists"),
    "mail_tables": ("mail_table",),
    "mailboxes": ("MailboxError", "lines", "messages", "stream"),
    "message": ("Message", "Part", "digest", "read"),
    "scoring": ("Score", "Scoring", "score"),
    "connected": ("StoreError",),
    "tokenizing": ("tokens",),
    "transfer": ("Transfer",),
    "tuning": ("Tuning",),
    "unlabeled": ("Unlabeled",),
    "verdict": ("Size", "Thresholds", "Training", "Verdict"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "Bin",
    "DumpError",
    "Errors",
    "Evaluation",
    "ListError",
    "Lists",
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
    "Transfer",
    "Tuning",
    "Unlabeled",
    "UnreadableError",
    "Verdict",
    "digest",
    "lines",
    "mail_table",
    "messages",
    "read",
    "score",
    "stream",
    "tokens",
]


def __getattr__(name: str) -> Any:
    """Load the module of a public name on first access (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'suffice.spam' has no attribute {name!r}")
    value = getattr(import_module(f"suffice.spam.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted({*globals(), *__all__})
