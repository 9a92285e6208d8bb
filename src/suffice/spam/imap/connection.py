"""A connection to an IMAP server with few operations, none of which marks a message as read or can lose one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, Self

from suffice.spam.imap.account import Account
from suffice.spam.imap.session import DisconnectedError, RefusedError, explained, logged_in
from suffice.spam.mailboxes import MESSAGE_LIMIT, MailboxError
from suffice.spam.plain import acts

#: limits per fetch: messages, and bytes (approximate)
FETCH_MESSAGES, FETCH_BYTES = 100, 4_000_000
#: messages per search, since the length of an answer line is limited
SEARCH_MESSAGES = 50_000
#: a flag known to mail programs, for messages that stay in place because the server cannot move them
JUNK_KEYWORD = "$Junk"


class State(NamedTuple):
    """The state of a folder: the UIDVALIDITY of its UIDs, and the highest UID so far."""

    validity: int
    newest: int


class Connection:
    """A logged-in connection; see `logged_in` for the errors of logging in.

    Parameters
    ----------
    account : Account
        The account to log in to.
    password : str
        The password of the user.
    """

    def __init__(self, account: Account, password: str) -> None:
        self.account = account
        #: (folder, UID) of the messages being fetched; if the connection breaks, one of them may be the cause
        self.fetching: list[tuple[str, int]] = []
        self._selected: tuple[str, bool] | None = None
        self._states: dict[str, State] = {}
        self._idling = False
        self._told = 0
        self._client = logged_in(account, password)

    def folders(self) -> dict[str, tuple[bytes, ...]]:
        """Return the flags of all folders that hold messages, by name."""
        with explained(self.account, "listing folders"):
            listed = self._client.list_folders()
            return {
                str(name): tuple(flags)
                for flags, _, name in listed
                if not {b"\\noselect", b"\\nonexistent"} & _lower(flags)
            }

    def check(self, names: Iterable[str]) -> None:
        """Raise an error that lists the existing folders, unless all the given folders exist."""
        found = self.folders()
        for name in names:
            if name.upper() != "INBOX" and name not in found:
                listed = ", ".join(repr(other) for other in sorted(found)[:20])
                raise MailboxError(
                    f"{self.account} has no folder {name!r}; make it in your mail program, or give one of: {listed}"
                )

    def junk_folder(self) -> str:
        """Return the folder that the server marks as the one for spam, or "Junk"."""
        return next((name for name, flags in self.folders().items() if b"\\junk" in _lower(flags)), "Junk")

    def status(self, folder: str) -> State:
        """Return the state of a folder without opening it."""
        with explained(self.account, f"asking about {folder!r}"):
            found = self._client.folder_status(folder, ["UIDVALIDITY", "UIDNEXT"])
            return State(_number(found[b"UIDVALIDITY"]), _number(found[b"UIDNEXT"]) - 1)

    def select(self, folder: str, *, writing: bool = False) -> State:
        """Open a folder, read-only by default, and return its current state."""
        _check_name(folder)
        self._selected = None
        with explained(self.account, f"opening {folder!r}"):
            found = self._client.select_folder(folder, readonly=not writing)
            validity, self._exists = _number(found.get(b"UIDVALIDITY", 0)), _number(found.get(b"EXISTS", 0))
            following = None if found.get(b"UIDNEXT") is None else _number(found[b"UIDNEXT"])
        self._selected = (folder, writing)
        newest = max(self._search("ALL"), default=0) if following is None else following - 1
        self._states[folder] = State(validity, newest)
        return self._states[folder]

    def _open(self, folder: str, *, writing: bool = False, again: bool = False) -> None:
        """Make sure that a folder is the open one, and that its UIDVALIDITY has not changed."""
        if not again and self._selected is not None and self._selected[0] == folder and self._selected[1] >= writing:
            return
        before = self._states.get(folder)
        if self.select(folder, writing=writing).validity != (before or self._states[folder]).validity:
            raise DisconnectedError(f"the folder {folder!r} was created again while it was read")

    def uids(self, folder: str, after: int = 0) -> list[int]:
        """Return the UIDs of a folder above `after`, ascending, without messages marked as deleted."""
        self._open(folder)
        # n:* always includes the last message, even if its UID is below n
        return sorted(uid for uid in self._search(f"UNDELETED UID {after + 1}:*") if uid > after)

    def has(self, folder: str, uid: int) -> bool:
        """Return whether a folder still holds a message that is not marked as deleted."""
        self._open(folder, again=True)  # reopened, to see removals by other clients
        return uid in self._search(f"UNDELETED UID {uid}")

    def _search(self, criterion: str) -> set[int]:
        found: set[int] = set()
        # backwards, so that a removal meanwhile makes a message appear twice instead of being missed
        for last in range(self._exists, 0, -SEARCH_MESSAGES):
            first = max(1, last - SEARCH_MESSAGES + 1)
            end = "*" if last == self._exists else str(last)
            with explained(self.account, "searching"):
                found |= set(map(_number, self._client.search(f"{first}:{end} {criterion}")))
        return found

    def bodies(
        self, folder: str, uids: Sequence[int], *, writing: bool = False, alone: bool = False
    ) -> Iterator[tuple[int, bytes | None]]:
        """Yield (UID, message), as stored, up to `MESSAGE_LIMIT` bytes; None for a message that the server cannot give.

        Parameters
        ----------
        folder : str
            The folder, which is opened again if another one was opened meanwhile.
        uids : sequence of int
            The messages; those that no longer exist are left out.
        writing : bool
            Open the folder also for writing.
        alone : bool
            Fetch one message at a time, to find the one that breaks the connection.
        """
        for start in range(0, len(uids), FETCH_MESSAGES):
            some = uids[start : start + FETCH_MESSAGES]
            self._open(folder, writing=writing)
            try:
                sizes = self._sizes(some)
            except RefusedError:  # one of them is broken: fetch each alone
                sizes = dict.fromkeys(some, FETCH_BYTES)
            for group in _groups(sizes, 1 if alone else FETCH_BYTES):
                self._open(folder, writing=writing)
                yield from self._bodies(group, sizes[group[0]] > MESSAGE_LIMIT)

    def _sizes(self, uids: Sequence[int]) -> dict[int, int]:
        """Return the sizes of the existing messages; one without a size gets `FETCH_BYTES`, to be fetched alone."""
        found = self._fetch(uids, "RFC822.SIZE")
        sizes = {uid: found[uid].get(b"RFC822.SIZE") for uid in uids if uid in found}
        return {uid: size if isinstance(size, int) else FETCH_BYTES for uid, size in sizes.items()}

    def _bodies(self, group: list[int], is_large: bool) -> Iterator[tuple[int, bytes | None]]:
        item = f"BODY.PEEK[]<0.{MESSAGE_LIMIT}>" if is_large else "BODY.PEEK[]"
        assert self._selected is not None
        self.fetching = [(self._selected[0], uid) for uid in group]
        try:
            found = self._fetch(group, item)
            self.fetching = []
        except RefusedError:
            self.fetching = []
            if len(group) == 1:
                yield group[0], None
            else:
                for uid in group:
                    yield from self._bodies([uid], False)
            return
        for uid in group:
            if uid in found:
                raw = found[uid].get(b"BODY[]<0>" if is_large else b"BODY[]")
                yield uid, raw if isinstance(raw, bytes) else None

    def _fetch(self, uids: Sequence[int], item: str) -> dict[int, dict[bytes, Any]]:
        with explained(self.account, "fetching messages"):
            found: dict[int, dict[bytes, Any]] = self._client.fetch(uids, [item])
        return found

    @property
    def can_move(self) -> bool:
        """Whether the server can remove one message from a folder without removing others."""
        with explained(self.account, "asking what it can do"):
            return bool(self._client.has_capability("MOVE") or self._client.has_capability("UIDPLUS"))

    def move(self, folder: str, uid: int, target: str, *, is_copied: bool = False) -> None:
        r"""Move one message, or copy and flag it if the server cannot move.

        Without MOVE it is copied, and then removed alone (UID EXPUNGE). A server without UID EXPUNGE would remove all
        messages marked as deleted, so there the message stays, with the keyword `$Junk`.

        Parameters
        ----------
        folder : str
            The folder of the message.
        uid : int
            The message.
        target : str
            The folder to move it to.
        is_copied : bool
            Whether it is in `target` already, and only has to be removed from `folder`.
        """
        _check_name(target)
        self._open(folder, writing=True)
        client = self._client
        with explained(self.account, f"moving a message to {target!r}"):
            if client.has_capability("MOVE") and not is_copied:
                client.move([uid], target)
                return
            if not is_copied:
                client.copy([uid], target)
            if client.has_capability("UIDPLUS"):
                client.add_flags([uid], [rb"\Deleted"], silent=True)
                client.uid_expunge([uid])
            else:
                # some servers do not support keywords
                with suppress(RefusedError), explained(self.account, "flagging a message"):
                    client.add_flags([uid], [JUNK_KEYWORD], silent=True)

    def wait(self, folder: str, after: int, seconds: float) -> bool:
        """Wait up to `seconds` until something happens in a folder; return False at once if the server cannot wait.

        It does not wait if there is a message with a UID above `after`: the server may have announced it during another
        command, and would not announce it again.
        """
        newest = self.select(folder).newest
        if newest > after and newest != self._told:  # only once per value, in case the server's numbers are wrong
            self._told = newest
            return True
        with explained(self.account, "waiting"):
            if not self._client.has_capability("IDLE"):
                return False
            self._client.idle()
            self._idling = True
            self._client.idle_check(timeout=seconds)
            self._idling = False
            self._client.idle_done()
        return True

    def close(self, *, politely: bool = True) -> None:
        """Log out, or only close the connection; never CLOSE, which would remove messages marked as deleted."""
        with suppress(Exception):
            if politely:
                self._client.socket().settimeout(2.0)
                if self._idling:
                    self._client.idle_done()
                self._client.logout()
                return
        with suppress(Exception):
            self._client.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close(politely=not isinstance(error, DisconnectedError))


def _lower(flags: Iterable[bytes]) -> set[bytes]:
    return {flag.lower() for flag in flags}


def _check_name(folder: str) -> None:
    # other characters are quoted and encoded in UTF-7, but a line end would end the command
    if not folder or acts(folder):
        raise MailboxError(
            f"a folder must have a name without control characters or direction marks, but it is {folder!r}; "
            "rename it in your mail program"
        )


def _number(answer: Any) -> int:
    """Return a number of an answer; all numbers have 32 bits (RFC 3501)."""
    number = int(answer)
    if not 0 <= number < 1 << 32:
        raise OverflowError(f"a number must be from 0 to {(1 << 32) - 1}, but it is {number}")
    return number


def _groups(sizes: dict[int, int], limit: int) -> Iterator[list[int]]:
    """Yield the messages in order, in groups whose total bytes are within a limit; a larger message is a group.

    Examples
    --------
    >>> list(_groups({1: 10, 2: 20, 3: 100, 4: 5, 5: 6}, 30))
    [[1, 2], [3], [4, 5]]
    """
    group: list[int] = []
    total = 0
    for uid, size in sizes.items():
        if group and total + size > limit:
            yield group
            group, total = [], 0
        group.append(uid)
        total += size
    if group:
        yield group
