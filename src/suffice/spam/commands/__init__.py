"""`suffice spam`: the filter on the command line. Each module registers its commands, which load what they need."""

from suffice.spam.commands import (
    classify,
    daemon,
    demo,
    evaluate,
    explain,
    filter,
    keep,
    lists,
    milter,
    serve,
    setup,
    stats,
    train,
    transfer,
    tune,
    untrain,
    watch,
)
from suffice.spam.commands.app import app

__all__ = [
    "app",
    "classify",
    "daemon",
    "demo",
    "evaluate",
    "explain",
    "filter",
    "keep",
    "lists",
    "milter",
    "serve",
    "setup",
    "stats",
    "train",
    "transfer",
    "tune",
    "untrain",
    "watch",
]
