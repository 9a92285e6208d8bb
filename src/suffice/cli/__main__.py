"""`python -m suffice.cli` runs the command `suffice`."""

from suffice.cli import main

if __name__ == "__main__":
    main()
