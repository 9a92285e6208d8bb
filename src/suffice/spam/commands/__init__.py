"""`suffice spam`: the filter on the command line. Each module registers its commands, which load what they need."""

from suffice.spam.commands import milter, stats
from suffice.spam.commands.app import app

__all__ = ["app", "milter", "stats"]
