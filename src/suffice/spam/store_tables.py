"""The tables of a store, and checks that a file has these tables and no others."""

from __future__ import annotations

import sqlite3

from suffice.spam.kept import DAYS

SCHEMA_VERSION = 1
APPLICATION = 0x53_75_46_69  # "SuFi", SQLite's application_id of a store
TABLES = {
    "meta": "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "tokens": "CREATE TABLE tokens (token TEXT PRIMARY KEY, spam INTEGER NOT NULL, ham INTEGER NOT NULL) WITHOUT ROWID",
    "messages": (
        "CREATE TABLE messages (digest BLOB PRIMARY KEY, label TEXT NOT NULL, day INTEGER NOT NULL, "
        "tokens BLOB NOT NULL, soft_spam INTEGER NOT NULL DEFAULT 0, soft_ham INTEGER NOT NULL DEFAULT 0)"
    ),
}
#: created with the first bucket; a store without buckets does not have them
BUCKET_TABLES = {
    "buckets": "CREATE TABLE buckets (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, weight INTEGER NOT NULL)",
    "bucket_tokens": (
        "CREATE TABLE bucket_tokens (token TEXT NOT NULL, bucket INTEGER NOT NULL, weight INTEGER NOT NULL, "
        "PRIMARY KEY (token, bucket)) WITHOUT ROWID"
    ),
    "bucket_messages": (
        "CREATE TABLE bucket_messages (digest BLOB PRIMARY KEY, bucket INTEGER NOT NULL) WITHOUT ROWID"
    ),
}

#: conditions that every row of a table satisfies
_VALUES = {
    "meta": "typeof(key) = 'text' AND typeof(value) = 'text'",
    "tokens": (
        "typeof(token) = 'text' AND typeof(spam) = 'integer' AND typeof(ham) = 'integer' AND spam >= 0 AND ham >= 0"
    ),
    "messages": (
        "typeof(digest) = 'blob' AND length(digest) = 32 AND label IN ('spam', 'ham', 'unlabeled', 'imported') "
        f"AND typeof(day) = 'integer' AND abs(day) <= {DAYS} AND typeof(tokens) = 'blob' "
        "AND typeof(soft_spam) = 'integer' AND typeof(soft_ham) = 'integer' AND soft_spam >= 0 AND soft_ham >= 0"
    ),
    "buckets": "typeof(name) = 'text' AND typeof(weight) = 'integer' AND weight >= 0",
    "bucket_tokens": (
        "typeof(token) = 'text' AND bucket IN (SELECT id FROM buckets) AND typeof(weight) = 'integer' AND weight >= 0 "
        "AND weight <= (SELECT ham FROM tokens WHERE tokens.token = bucket_tokens.token)"
    ),
    "bucket_messages": (
        "bucket IN (SELECT id FROM buckets) AND digest IN (SELECT digest FROM messages WHERE label = 'ham')"
    ),
}


def make_tables(connection: sqlite3.Connection) -> None:
    """Create the tables in an empty file; call within a transaction."""
    for statement in TABLES.values():
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def foreign_parts(connection: sqlite3.Connection) -> str:
    """Return a description of what is wrong with the tables of a file, or an empty string if they are a store's.

    A view or a trigger in place of a table could run arbitrary SQL, for any length of time.
    """
    # the indexes that SQLite creates itself, for keys, have no SQL text
    found = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    expected = TABLES | BUCKET_TABLES if any(name in BUCKET_TABLES for _, name, _ in found) else TABLES
    ours = {("table", name, text) for name, text in expected.items()}
    strange = [f"{kind} {name!r}" for kind, name, text in found if (kind, name, text) not in ours]
    missing = [f"no table {name!r}" for kind, name, text in sorted(ours - set(found))]
    return ", ".join([*strange, *missing][:5])


def has_bucket_tables(connection: sqlite3.Connection) -> bool:
    """Return whether a store, already checked by `foreign_parts`, has the tables of buckets."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'buckets'").fetchone() is not None


def wrong_values(connection: sqlite3.Connection) -> str:
    """Return a description of a table with invalid rows, or an empty string; reads every row."""
    try:
        for table in TABLES | (BUCKET_TABLES if has_bucket_tables(connection) else {}):
            # a condition on NULL is neither true nor false
            row = connection.execute(f"SELECT COUNT(*) FROM {table} WHERE NOT ifnull({_VALUES[table]}, 0)").fetchone()
            if row[0]:
                return f"{row[0]:,} rows of the table {table!r} are not as they were written"
    except sqlite3.Error as error:
        return str(error)
    return ""
