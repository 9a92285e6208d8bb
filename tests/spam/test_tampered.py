"""A store whose values somebody has changed: whatever is asked of it, there is an answer or an error that says so."""

import io
import sqlite3

import pytest
from mailbag import message

from suffice.spam import NotTrainedError, SpamFilter
from suffice.spam.buckets.names import BucketError
from suffice.spam.connected import StoreError
from suffice.spam.store_tables import BUCKET_TABLES, TABLES

DUMP = b".MSG_COUNT 9 7 20240101\nmoney 6 0 20240101\nprize 2 1 20240101\n"
VALUES = ["'text'", "NULL", "x'00ff'", "-5", "1e300", "9223372036854775807", "'[1,\"x\",null]'", "'{\"a\": 1}'"]


@pytest.fixture(scope="module")
def whole():
    with SpamFilter() as spam_filter:
        for number in range(30):
            spam_filter.train(message(number, "spam"), "spam")
            spam_filter.train(message(number), "ham", bucket=["a", "b", ""][number % 3])
        spam_filter.allow("ann@example.org")
        spam_filter.servers = ["mx.example.org"]
        spam_filter.half_life = 100.0
        spam_filter.train_unlabeled([message(number) for number in range(90, 95)])
        spam_filter.import_text(io.BytesIO(DUMP))
        spam_filter.tune(write=True)
        yield spam_filter._store._held


def set_half_life(spam_filter):
    spam_filter.half_life = 50.0


#: all that a store is asked for
ASKED = {
    "stats": SpamFilter.stats,
    "days": SpamFilter.days,
    "score": lambda spam_filter: spam_filter.score(message(0)),
    "score many": lambda spam_filter: list(spam_filter.score_many([message(0), message(99, "spam")])),
    "settings": lambda spam_filter: (
        spam_filter.lists, spam_filter.thresholds, spam_filter.imports, spam_filter.servers, spam_filter.half_life
    ),
    "evaluate": SpamFilter.evaluate,
    "tune": lambda spam_filter: spam_filter.tune(cost=10.0),
    "train": lambda spam_filter: spam_filter.train(message(99), "ham", bucket="b"),
    "move": lambda spam_filter: spam_filter.train(message(1), "spam"),
    "untrain": lambda spam_filter: spam_filter.untrain(message(1)),
    "forget": set_half_life,
    "expire": lambda spam_filter: spam_filter.expire(1.0),
    "buckets": lambda spam_filter: (dict(spam_filter.buckets), spam_filter.buckets.of(message(1))),
    "reasons": lambda spam_filter: spam_filter.buckets.reasons(message(1), "b"),
    "confusion": lambda spam_filter: spam_filter.buckets.evaluate(),
    "remove bucket": lambda spam_filter: spam_filter.buckets.remove("a"),
    "allow": lambda spam_filter: spam_filter.allow("bob@example.org"),
    "export": lambda spam_filter: spam_filter.export_text(io.BytesIO()),
    "remove import": lambda spam_filter: spam_filter.remove_import("bogofilter"),
    "label": lambda spam_filter: spam_filter.label_of(message(1)),
}  # fmt: skip


def tampered(whole, change):
    spam_filter = SpamFilter()
    whole.backup(spam_filter._store._held)
    spam_filter._store._held.execute(change)
    spam_filter._store._rollbacks += 1
    return spam_filter


def columns():
    with sqlite3.connect(":memory:") as connection:
        for table, statement in (TABLES | BUCKET_TABLES).items():
            connection.execute(statement)
            for _, column, _, _, _, is_key in connection.execute(f"PRAGMA table_info({table})").fetchall():
                one = f" WHERE {column} = (SELECT MAX({column}) FROM {table})" if is_key or column == "name" else ""
                yield f"UPDATE {table} SET {column} = {{}}{one}"
    connection.close()
    for key in ("spam", "ham", "thresholds", "link", "half_life", "origin", "lists", "servers", "imports"):
        yield f"UPDATE meta SET value = {{}} WHERE key = '{key}'"


@pytest.mark.parametrize("change", list(columns()))
def test_a_value_that_no_store_has_is_told_or_does_no_harm(whole, change):
    tried = 0
    for place, value in enumerate(VALUES):
        for number, (name, ask) in enumerate(ASKED.items()):
            if (number + place) % 3:  # a third of all pairs, or it takes long
                continue
            try:
                spam_filter = tampered(whole, change.format(value))
            except sqlite3.Error:  # SQLite itself refuses it
                break
            try:
                ask(spam_filter)
            except (StoreError, NotTrainedError, BucketError):
                pass
            except ValueError as error:
                if "learned" not in str(error) and "train" not in str(error):  # there is too little left
                    raise AssertionError((name, value)) from error
            tried += 1
            spam_filter.close()
    assert tried
