"""Export of a store as text, and import of such text and of the dumps of other filters.

The text is one JSON value per line:

| line | holds |
|---|---|
| the first | `format`, `version` and `settings`: thresholds, link, half-life, lists of senders, imports; `buckets`, |
| | if there are any |
| a message | `digest`, `label` (spam, ham or unlabeled), `day` since 1970, `tokens`; `shares` if it has no label, |
| | `bucket` if it is in one |
| an import | `digest`, `label` (imported), `day`, `messages`, `scales` and `tokens` with their counts |
| the last | `end`: the number of lines between the first and this one |

Sums are left out, since they follow from the lines; an import gives the same store again. Lines are sorted by digest,
so equal stores give equal texts. A later version is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, BinaryIO, NamedTuple

from suffice.spam.authentication import checked_server
from suffice.spam.buckets.names import BUCKET_LIMIT, checked_name
from suffice.spam.compressed import CompressedError, expanded, is_compressed
from suffice.spam.foreign import DumpError, Learned, from_bogofilter, from_spamassassin, program_of
from suffice.spam.forgetting import UNIT
from suffice.spam.imported import MOST, Imported, in_rows
from suffice.spam.kept import DAYS, checked_setting
from suffice.spam.lists import checked_entry
from suffice.spam.reading import pack, unpack
from suffice.spam.shares import Kind, KnownMessage
from suffice.spam.store import Store

FORMAT, VERSION = "suffice spam store", 1
#: limit of the length of a line, in bytes
LINE_LIMIT = 16_000_000
_BATCH = 1_000
_KINDS: tuple[Kind, ...] = ("spam", "ham", "unlabeled", "imported")


class Transfer(NamedTuple):
    """The result of an import.

    Attributes
    ----------
    program : str
        The program that wrote the text: "suffice", "bogofilter" or "spamassassin".
    learned, known, kept : int
        Number of messages of our own text that were new, that were known, and that were known with another class, which
        they keep.
    spam, ham : int
        Number of messages that another filter had learned.
    tokens, named : int
        Number of tokens in its dump, and of our tokens that they became.
    """

    program: str
    learned: int = 0
    known: int = 0
    kept: int = 0
    spam: int = 0
    ham: int = 0
    tokens: int = 0
    named: int = 0


def export_store(store: Store, file: BinaryIO, progress: Callable[[int], object] | None = None) -> int:
    """Write a store as text, and return the number of messages and imports; call within a snapshot."""
    head: dict[str, Any] = {"format": FORMAT, "version": VERSION, "settings": store.settings()}
    if buckets := [bucket.name for bucket in store.buckets.all()]:
        head["buckets"] = buckets
    file.write(_line(head))
    count = 0
    for chunk in store.known(_KINDS, _BATCH):
        own = store.buckets.of(message.digest for message in chunk)
        file.writelines(_line(_as_json(message, own.get(message.digest))) for message in chunk)
        count += len(chunk)
        if progress is not None:
            progress(count)
    file.write(_line({"end": count}))
    return count


def is_export(path: str | os.PathLike[str]) -> bool:
    """Return whether a file was written by `export_store`, or is empty."""
    with open(path, "rb") as file:
        try:
            first = next(_lines(file))
        except (CompressedError, StopIteration):
            return False
    return first == b"" or f'"format":"{FORMAT}"'.encode() in first


def import_text(
    store: Store,
    file: BinaryIO,
    day: int,
    words: Iterable[str] = (),
    progress: Callable[[int], object] | None = None,
) -> Transfer:
    """Import a text into a store; call within a transaction, so that a damaged text changes nothing.

    Parameters
    ----------
    store : Store
        The store to import into. Settings of our own text are imported only if nothing was learned yet. The counts of
        another filter replace an earlier import from it.
    file : binary file
        The text, which may be compressed.
    day : int
        The day of an import from another filter, since 1970.
    words : iterable of str
        Words to look up by their hashes, in addition to the tokens of the store.
    progress : callable, optional
        Called with the number of lines done.

    Raises
    ------
    DumpError
        If a line is damaged; the message names it.
    """
    try:
        lines = _lines(file)
        first = next(lines, b"")
        whole = chain([first], lines)
        if first.lstrip().startswith(b"{"):
            return _import_store(store, enumerate(whole, 1), day, progress)
        program = program_of(first)
        if program == "bogofilter":
            return _import_counts(store, from_bogofilter(whole), day)
        if program == "spamassassin":
            candidates = dict.fromkeys(chain(store.tokens(), (word.lower() for word in words)))
            return _import_counts(store, from_spamassassin(whole, candidates), day)
    except CompressedError as error:
        raise DumpError(f"the file cannot be read: {error}") from error
    raise DumpError(
        "the file is not one that can be imported; give what `suffice spam export`, `bogoutil -d wordlist.db` or "
        "`sa-learn --backup` writes"
    )


def _lines(file: BinaryIO) -> Iterator[bytes]:
    first = file.readline(LINE_LIMIT)
    if is_compressed(first):
        file = expanded(first, file)
        first = file.readline(LINE_LIMIT)
    yield first
    while line := file.readline(LINE_LIMIT):
        yield line


def remove_import(store: Store, program: str) -> bool:
    """Undo the import from another filter, and return whether there was one; call within a transaction."""
    imports = store.get("imports", {})
    if program not in imports:
        return False
    for digest in map(bytes.fromhex, imports.pop(program)["digests"]):
        if store.message(digest) is not None:  # else it was removed by `expire`
            store.remove([digest])
    store.put("imports", imports)
    return True


def _import_counts(store: Store, learned: Learned, day: int) -> Transfer:
    """Import the counts of another filter, replacing an earlier import from it."""
    if not learned.counts:
        raise DumpError(
            f"none of the {learned.tokens:,} tokens in the dump has a name that is known; SpamAssassin writes hashes "
            "of them, which cannot be reversed: train on mail first, or give words with --words FILE"
            if learned.program == "spamassassin"
            else f"none of the {learned.tokens:,} tokens in the dump is one that this filter makes"
        )
    remove_import(store, learned.program)
    own = store.size()[:2]
    rows = list(in_rows(learned.spam, learned.ham, learned.counts, *own))
    store.add([KnownMessage(digest, "imported", day, row.packed()) for digest, row in rows])
    about = {
        "digests": [digest.hex() for digest, _ in rows],
        "spam": learned.spam,
        "ham": learned.ham,
        "tokens": len(learned.counts),
    }
    store.put("imports", store.get("imports", {}) | {learned.program: about})
    return Transfer(
        learned.program, spam=learned.spam, ham=learned.ham, tokens=learned.tokens, named=len(learned.counts)
    )


def _import_store(
    store: Store, lines: Iterator[tuple[int, bytes]], today: int, progress: Callable[[int], object] | None
) -> Transfer:
    number, head = next(lines)
    allowed = _take_settings(store, _checked(number, head, _settings), today)
    for name in _checked(number, head, _buckets):
        store.buckets.make(name)
    learned = already = kept = 0
    count, ended = 0, False
    while batch := list(islice(lines, _BATCH)):
        messages: dict[bytes, KnownMessage] = {}
        filed: dict[bytes, str | None] = {}
        for number, line in batch:
            if ended and line.strip():
                raise DumpError(f"line {number} is damaged: there is text after the last line")
            if ended or (message := _checked(number, line, _message)) is None:
                ended = True
                if line.strip() and json.loads(line)["end"] != count:
                    raise DumpError(f"line {number} is damaged: {count} lines came before it, but it gives {line!r}")
                continue
            count += 1
            # dates in the future, from a wrong clock, become today: beside them older messages would have no weight
            messages[message.digest] = message._replace(day=min(message.day, today))
            filed[message.digest] = _checked(number, line, _bucket)
        labels = store.labels(list(messages))
        guesses = [d for d in labels if labels[d] == "unlabeled" and messages[d].label in ("spam", "ham")]
        store.remove(guesses)  # a label replaces an estimate
        for digest in guesses:
            del labels[digest]
        new = [m for m in messages.values() if m.digest not in labels and (m.label != "imported" or allowed(m.digest))]
        learned += sum(message.label != "imported" for message in new)
        same = [labels[digest] == messages[digest].label for digest in labels if messages[digest].label != "imported"]
        already += sum(same)
        kept += len(same) - sum(same)
        store.add(new)
        for name in sorted({own for own in filed.values() if own is not None}):
            store.buckets.file([message.digest for message in new if filed[message.digest] == name], name)
        if progress is not None:
            progress(count)
    if not ended:
        raise DumpError(f"the file ends after line {number}, without its last line; a part of it is missing")
    return Transfer("suffice", learned, already, kept)


def _take_settings(store: Store, settings: dict[str, Any], today: int) -> Callable[[bytes], bool]:
    """Set the settings if the store is empty, and return a predicate for the digests of imports to take."""
    imports, given = store.get("imports", {}), settings.get("imports", {})
    if store.days() is None:
        if settings.get("origin", 0) > today:
            raise DumpError("line 1 is damaged: weights are counted from a day in the future")
        for key, value in settings.items():
            store.put(key, value)
        return lambda digest: True
    new = {program: about for program, about in given.items() if program not in imports}
    if new:
        store.put("imports", imports | new)
    taken = {bytes.fromhex(digest) for about in new.values() for digest in about["digests"]}
    return taken.__contains__


def _as_json(message: KnownMessage, bucket: str | None) -> dict[str, Any]:
    about: dict[str, Any] = {"digest": message.digest.hex(), "label": message.label, "day": message.day}
    if message.label == "imported":
        imported = Imported.unpacked(message.packed)
        return about | {
            "messages": [imported.spam, imported.ham],
            "scales": [imported.spam_scale, imported.ham_scale],
            "tokens": imported.counts,
        }
    if message.soft_spam or message.soft_ham:
        about["shares"] = [message.soft_spam, message.soft_ham]
    if bucket is not None:
        about["bucket"] = bucket
    return about | {"tokens": unpack(message.packed)}


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _checked(number: int, line: bytes, read: Callable[[Any], Any]) -> Any:
    """Return the result of a function on a parsed line; raise DumpError with the line number on any error."""
    try:
        return read(json.loads(line))
    except DumpError:
        raise
    except RecursionError:
        raise DumpError(f"line {number} is damaged: it is nested too deeply") from None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        missing = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise DumpError(f"line {number} is damaged: {missing[:300]}") from error


def _settings(head: Any) -> dict[str, Any]:
    if head["format"] != FORMAT:
        raise ValueError(f"the format must be {FORMAT!r}, but it is {head['format']!r}")
    if head["version"] != VERSION:
        raise DumpError(
            f"the file has version {head['version']!r}, but this version of suffice reads {VERSION}; use the version "
            "of suffice that wrote it, or a later one"
        )
    settings: dict[str, Any] = dict(head["settings"])
    if not settings.keys().isdisjoint(("spam", "ham")):
        raise ValueError("totals are no settings")
    for key, value in settings.items():
        checked_setting(key, value)
    allow, block = settings.get("lists", ((), ()))
    _require(all(checked_entry(entry) == entry for entry in (*allow, *block)), "an entry of a list is not plain")
    servers = settings.get("servers", ())
    _require(all(checked_server(name) == name for name in servers), "the name of a server is not plain")
    return settings


def _buckets(head: Any) -> list[str]:
    names = head.get("buckets", [])
    _require(isinstance(names, list) and all(checked_name(name) == name for name in names), "buckets must be names")
    _require(len(names) <= BUCKET_LIMIT, f"there must be at most {BUCKET_LIMIT} buckets")
    return names


def _bucket(found: Any) -> str | None:
    name = found.get("bucket")
    _require(name is None or (found["label"] == "ham" and checked_name(name) == name), "a bucket has a name, and hams")
    return name


def _message(found: Any) -> KnownMessage | None:
    """Return the row of a line; None for the last line."""
    if "end" in found:
        _whole(found["end"], 0, 2**62)
        return None
    digest, label = bytes.fromhex(found["digest"]), found["label"]
    _require(len(digest) == 32, "a digest has 32 bytes")
    _require(label in _KINDS, f"the label must be one of {', '.join(_KINDS)}, but it is {label!r}")
    day = _whole(found["day"], -DAYS, DAYS)
    if label == "imported":
        counts = {_token(token): _both(both, 2**32) for token, both in found["tokens"].items()}
        imported = Imported(*_both(found["messages"], 2**32), *_both(found["scales"], UNIT), counts)
        most = max(chain(imported.totals(UNIT), *(row[1:] for row in imported.rows(UNIT))))
        _require(most <= 2 * MOST * UNIT, f"an import counts as at most {MOST:,} messages")
        return KnownMessage(digest, label, day, imported.packed(), 0, 0)
    shares = _both(found.get("shares", (0, 0)), UNIT)
    _require(label == "unlabeled" or not any(shares), "only a message without a label has shares")
    _require(isinstance(found["tokens"], list), "tokens must be a list")
    _require(len(set(map(_token, found["tokens"]))) == len(found["tokens"]), "a token is repeated")
    return KnownMessage(digest, label, day, pack("\n".join(map(_token, found["tokens"]))), *shares)


def _token(token: Any) -> str:
    _require(isinstance(token, str) and token != "" and not set("\n\0") & set(token), f"{token!r} is not a token")
    token.encode()  # raises for a lone surrogate
    return str(token)


def _both(values: Any, most: int) -> tuple[int, int]:
    spam, ham = values
    return _whole(spam, 0, most), _whole(ham, 0, most)


def _whole(value: Any, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"there must be a whole number from {least} to {most}, but it is {str(value)[:100]}")
    return value


def _require(is_so: bool, text: str) -> None:
    if not is_so:
        raise ValueError(text)
