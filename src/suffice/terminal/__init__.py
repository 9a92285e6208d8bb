"""Errors, warnings and exit codes of the command lines of the library and of the spam filter."""
