"""A connection to an IMAP server: few verbs, none of which marks a message as read or can lose one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, Self

from suffice.spam.imap.account import Account
from suffice.spam.imap.session import DisconnectedError, RefusedError, explained, logged_in
from suffice.spam.mailboxes import MESSAGE_LIMIT, MailboxError
from suffice.spam.plain import acts

#: how many messages, and about how many bytes of them, are fetched at a time
FETCH_MESSAGES, FETCH_BYTES = 100, 4_000_000
#: so many messages are searched at a time, since a line of an answer has a limit
SEARCH_MESSAGES = 50_000
#: a flag that mail programs know, for what stays where it is because the server cannot move it
JUNK_KEYWORD = "$Junk"


class State(NamedTuple):
    """A folder as it is: the period in which its UIDs hold, and the highest of them so far."""

    validity: int
    newest: int


class Connection:
    """A user logged in; see `logged_in` for what may go wrong with that.

    Parameters
    ----------
    account : Account
        Whose.
    password : str
        Of the user.
    """

    def __init__(self, account: Account, password: str) -> None:
        self.account = account
        #: the messages that are being fetched: after a connection broke, one of them may be why
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
        """Raise an error that lists the folders there are, unless all of these are among them."""
        found = self.folders()
        for name in names:
            if name.upper() != "INBOX" and name not in found:
                listed = ", ".join(repr(other) for other in sorted(found)[:20])
                raise MailboxError(
                    f"{self.account} has no folder {name!r}; make it in your mail program, or give one of: {listed}"
                )

    def junk_folder(self) -> str:
        """Return the folder that the server says is for spam, or "Junk"."""
        return next((name for name, flags in self.folders().items() if b"\\junk" in _lower(flags)), "Junk")

    def status(self, folder: str) -> State:
        """Return the state of a folder without opening it."""
        with explained(self.account, f"asking about {folder!r}"):
            found = self._client.folder_status(folder, ["UIDVALIDITY", "UIDNEXT"])
            return State(_number(found[b"UIDVALIDITY"]), _number(found[b"UIDNEXT"]) - 1)

    def select(self, folder: str, *, writing: bool = False) -> State:
        """Open a folder, for reading alone by default, and return its state now."""
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
        """Make sure that a folder is the open one, and that UIDs mean there what they did."""
        if not again and self._selected is not None and self._selected[0] == folder and self._selected[1] >= writing:
            return
        before = self._states.get(folder)
        if self.select(folder, writing=writing).validity != (before or self._states[folder]).validity:
            raise DisconnectedError(f"the folder {folder!r} was made anew while it was read")

    def uids(self, folder: str, after: int = 0) -> list[int]:
        """Return the UIDs of a folder above one, ascending, without those marked as deleted."""
        self._open(folder)
        # the last message is always among those of n:*
        return sorted(uid for uid in self._search(f"UNDELETED UID {after + 1}:*") if uid > after)

    def has(self, folder: str, uid: int) -> bool:
        """Return whether a folder holds a message still, and not as a deleted one, which some programs leave behind."""
        self._open(folder, again=True)  # so that what others removed is gone here as well
        return uid in self._search(f"UNDELETED UID {uid}")

    def _search(self, criterion: str) -> set[int]:
        found: set[int] = set()
        # backwards, so that what is removed meanwhile makes a message be found twice, and not be missed
        for last in range(self._exists, 0, -SEARCH_MESSAGES):
            first = max(1, last - SEARCH_MESSAGES + 1)
            end = "*" if last == self._exists else str(last)
            with explained(self.account, "searching"):
                found |= set(map(_number, self._client.search(f"{first}:{end} {criterion}")))
        return found

    def bodies(
        self, folder: str, uids: Sequence[int], *, writing: bool = False, alone: bool = False
    ) -> Iterator[tuple[int, bytes | None]]:
        """Yield messages as they are stored, up to `MESSAGE_LIMIT` bytes, and None for what the server cannot give.

        Parameters
        ----------
        folder : str
            Opened, also again if another one was meanwhile.
        uids : sequence of int
            Which; those that are gone are left out.
        writing : bool
            Open the folder for writing as well.
        alone : bool
            Fetch one at a time, to find the one that breaks the connection.
        """
        for start in range(0, len(uids), FETCH_MESSAGES):
            some = uids[start : start + FETCH_MESSAGES]
            self._open(folder, writing=writing)
            try:
                sizes = self._sizes(some)
            except RefusedError:  # one of them is broken: each on its own
                sizes = dict.fromkeys(some, FETCH_BYTES)
            for group in _groups(sizes, 1 if alone else FETCH_BYTES):
                self._open(folder, writing=writing)
                yield from self._bodies(group, sizes[group[0]] > MESSAGE_LIMIT)

    def _sizes(self, uids: Sequence[int]) -> dict[int, int]:
        """Return the sizes of those messages that are there; one without a size is fetched alone."""
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
        """Whether a message can be taken out of a folder without anything else being removed."""
        with explained(self.account, "asking what it can do"):
            return bool(self._client.has_capability("MOVE") or self._client.has_capability("UIDPLUS"))

    def move(self, folder: str, uid: int, target: str, *, is_copied: bool = False) -> None:
        r"""Move one message, or copy and flag it where the server cannot move.

        Without MOVE it is copied, and then this one alone is removed (UID EXPUNGE); a server without that as well would
        remove everything that is marked as deleted, so that there the message stays, with the keyword `$Junk`.

        Parameters
        ----------
        folder : str
            Where it is.
        uid : int
            Which.
        target : str
            Where to.
        is_copied : bool
            It is there already, and has to be taken out of `folder` only.
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
                # some servers have no keywords
                with suppress(RefusedError), explained(self.account, "flagging a message"):
                    client.add_flags([uid], [JUNK_KEYWORD], silent=True)

    def wait(self, folder: str, after: int, seconds: float) -> bool:
        """Wait until something happens in a folder, at most so long; return False at once where the server cannot.

        It does not wait if there is a message above a UID: the server may have told of it during another command, and
        would not do so again.
        """
        newest = self.select(folder).newest
        if newest > after and newest != self._told:  # once, whatever a server counts
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
        """Log out, or only close the connection; never CLOSE, which would remove what is marked as deleted."""
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
    # anything else is quoted and written in UTF-7, but a line end would end the command
    if not folder or acts(folder):
        raise MailboxError(
            f"a folder must have a name without control characters and marks of direction, but it is {folder!r}; "
            "rename it in your mail program"
        )


def _number(answer: Any) -> int:
    """Return a number of an answer, all of which have 32 bits (RFC 3501)."""
    number = int(answer)
    if not 0 <= number < 1 << 32:
        raise OverflowError(f"a number must be from 0 to {(1 << 32) - 1}, but it is {number}")
    return number


def _groups(sizes: dict[int, int], limit: int) -> Iterator[list[int]]:
    """Yield the messages in their order, together as long as their bytes are within a limit; large ones alone.

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
