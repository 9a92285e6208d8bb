"""What the command lines of the library and of the spam filter share: errors, warnings and exit codes."""
