"""Messages to teach a spam filter with, and what its store holds afterwards."""

from suffice.spam import SpamFilter

#: names of folders that mean something else where they are not quoted
AWKWARD = [
    "sp ace",
    "it's",
    'quo"te',
    "dol$HOME",
    "per%hcent",
    "back\\slash",
    "`id`",
    "#1",
    "a;b|c",
    "tïlde~",
    "u\udcff",
]


def message(number, kind="ham"):
    words = " ".join(f"{kind}word{(number * 7 + i) % 50}" for i in range(8))
    return f"From: a{number % 5}@example.org\nSubject: {kind} {number}\n\nmessage number{number} {words}\n".encode()


def bucketed(number, name):
    """A message of a bucket, with enough words to tell it."""
    words = " ".join(f"{name}word{(number * 7 + i * i) % 60}" for i in range(30))
    head = f"From: {name}{number % 3}@{name}.example.org\nSubject: {name} {number}\nDate: 1 Jan 2024\n"
    return f"{head}\nmessage number{number} of {name}, {words}\n".encode()


def stored_messages(spam_filter):
    """What a store knows of each message."""
    return sorted(spam_filter._store._connection.execute("SELECT digest, label, day FROM messages"))


def contents(spam_filter):
    """All that a store holds, but for the order of its rows."""
    read = spam_filter._store._connection.execute
    return (
        sorted(read("SELECT * FROM tokens")),
        stored_messages(spam_filter),
        dict(read("SELECT * FROM meta")),
    )


def tables(store):
    """Every row of every table of a filter, or of the store at a path."""
    if not isinstance(store, SpamFilter):
        with SpamFilter.open(store) as spam_filter:
            return tables(spam_filter)
    read = store._store._connection.execute
    names = [name for (name,) in read("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()]
    return {name: sorted(read(f"SELECT * FROM {name}").fetchall()) for name in names}


def recounted(spam_filter):
    """The sums made anew, which must change nothing in a whole store."""
    with spam_filter._store.transaction():
        spam_filter._store.recount(spam_filter._store.forgetting)
    read = spam_filter._store._connection.execute
    return sorted(read("SELECT * FROM tokens")), spam_filter._store.totals()
